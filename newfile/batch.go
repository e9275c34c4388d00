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

// maxWorkers is how many sub-folders a batch fills at once at most; beyond it
// the file system's journal is the limit.
const maxWorkers = 8

// Batch makes all the files names, and hands each to fn, which may write into
// it; Batch closes it afterwards. With a nil fn the files are only made, as by
// Touch. It returns how many files were made.
//
// When Batch has returned without an error all names survive what
// Options.Level says; at level Power each folder is synced once, after its
// files are closed. A crash in the middle leaves any of the files
// (durability.Torn). What fn has written is fn's to sync.
//
// names is read once, to its end, before anything is made. If one is refused
// nothing is made. The first error, of ctx or fn among them, ends the batch;
// the error of fn is returned as it is. The files made until then stay, and at
// level Power are not known to be durable.
//
// The files of one sub-folder are made one after the other, because the kernel
// locks it for each. With Shards, fn is called by several goroutines at once.
func (d *Dir) Batch(ctx context.Context, names iter.Seq[string], perm fs.FileMode, fn func(name string, f *os.File) error) (made int, err error) {
	var places []place
	for name := range names {
		p, err := d.place("create", name)
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
	return int(b.made.Load()), b.err
}

type batch struct {
	d      *Dir
	ctx    context.Context
	perm   fs.FileMode
	fn     func(name string, f *os.File) error
	groups [][]place // of one sub-folder each

	next, made atomic.Int64
	failed     atomic.Bool
	once       sync.Once
	err        error // the first one
}

// byShard sorts places and splits them.
func byShard(places []place) (groups [][]place) {
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.shard, b.shard) })
	for len(places) > 0 {
		n := slices.IndexFunc(places, func(p place) bool { return p.shard != places[0].shard })
		if n < 0 {
			n = len(places)
		}
		groups = append(groups, places[:n])
		places = places[n:]
	}
	return groups
}

// prepare makes, at level Power, the sub-folders that are not known to be
// durable, so that the folder that holds them is synced once for all.
func (d *Dir) prepare(groups [][]place) error {
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

// fill makes the files of one sub-folder.
func (b *batch) fill(group []place) error {
	for _, p := range group {
		if b.failed.Load() {
			return nil
		}
		if b.ctx.Err() != nil {
			return fail("create", p.path, ctxErr(b.ctx))
		}
		f, err := b.d.make(p, b.perm, b.fn != nil)
		if err != nil {
			return err
		}
		b.made.Add(1)
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
