package newfile

import (
	"cmp"
	"context"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// maxWorkers is the most sub-directories that a batch fills at once. Beyond it
// the file system's journal is the limit.
const maxWorkers = 8

// Batch creates the files names. It calls fn for each, which may write to it, and
// then closes it. With a nil fn the files are created as by Touch. Batch returns
// the number of files created.
//
// When Batch returns without an error, all names survive what Options.Level
// says; at level Power each directory is synced once, after its files are
// closed. A crash during Batch leaves any of the files (durability.Torn). Batch
// does not sync what fn writes.
//
// names is read once, to its end, before any file is created. If one is refused
// no file is created. The first error, that of ctx or fn included, ends the
// batch; the error of fn is returned unchanged. The files created by then stay,
// and at level Power are not known to be durable.
//
// The files of one sub-directory are created one after the other, because the
// kernel locks it for each. With Shards, several goroutines call fn at once.
func (d *Dir) Batch(ctx context.Context, names iter.Seq[string], perm fs.FileMode, fn func(name string, f *os.File) error) (created int, err error) {
	var places []location
	for name := range names {
		p, err := d.locate("create", name)
		if err != nil {
			return 0, err
		}
		places = append(places, p)
	}
	if err := d.acquire("create", d.name); err != nil {
		return 0, err
	}
	defer d.release()
	groups := byShard(places)
	if err := d.prepare(groups); err != nil {
		return 0, err
	}
	b := &batch{d: d, ctx: ctx, perm: perm, fn: fn, groups: groups}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxWorkers, len(groups)) - 1 {
		wg.Go(b.work)
	}
	b.work()
	wg.Wait()
	return int(b.created.Load()), b.err
}

type batch struct {
	d      *Dir
	ctx    context.Context
	perm   fs.FileMode
	fn     func(name string, f *os.File) error
	groups [][]location // each of one sub-directory

	next, created atomic.Int64
	failed        atomic.Bool
	once          sync.Once
	err           error // the first one
}

// byShard sorts places by shard and splits them.
func byShard(places []location) (groups [][]location) {
	slices.SortStableFunc(places, func(a, b location) int { return cmp.Compare(a.shard, b.shard) })
	for len(places) > 0 {
		n := slices.IndexFunc(places, func(p location) bool { return p.shard != places[0].shard })
		if n < 0 {
			n = len(places)
		}
		groups = append(groups, places[:n])
		places = places[n:]
	}
	return groups
}

// prepare creates, at level Power, the sub-directories not known to be durable,
// so that one sync serves all of them.
func (d *Dir) prepare(groups [][]location) error {
	if !d.power || d.width == 0 {
		return nil
	}
	var fresh []int
	for _, g := range groups {
		if s := g[0].shard; !d.durable[s].Load() {
			fresh = append(fresh, s)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return d.makeShards(fresh...)
}

// work fills groups until there are no more, or one has failed.
func (b *batch) work() {
	for !b.failed.Load() {
		i := int(b.next.Add(1)) - 1
		if i >= len(b.groups) {
			return
		}
		if err := b.fill(b.groups[i]); err != nil {
			b.once.Do(func() { b.err = err })
			b.failed.Store(true)
		}
	}
}

// fill creates the files of one sub-directory.
func (b *batch) fill(group []location) error {
	for _, p := range group {
		if b.failed.Load() {
			return nil
		}
		if b.ctx.Err() != nil {
			return fail("create", p.path, ctxErr(b.ctx))
		}
		f, err := b.d.create(p, b.perm, b.fn != nil)
		if err != nil {
			return err
		}
		b.created.Add(1)
		if b.fn == nil {
			continue
		}
		err = b.fn(p.name(), f)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
	return b.d.syncShard(group[0].shard)
}
