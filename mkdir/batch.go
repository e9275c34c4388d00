package mkdir

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"math"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/internal/sys"
)

// Batch creates the directories rels and their missing parents, each distinct one
// by one mkdirat, and returns those it created. After a nil error they survive
// what Options.Level says; a crash during Batch leaves each path up to some level
// (durability.Prefix).
//
// rels is read once, to its end, before any directory is created. If a path is
// refused, no directory is created.
//
// After an error, that of ctx included, Created has the directories created by
// then. Undo removes them; a further Batch creates the rest. At level Power those
// of a failed batch are not known to be durable.
//
// The directories of one parent are created one after the other, by one
// goroutine, because the kernel locks the parent for each. A batch takes about 50
// bytes of memory a directory, and the paths.
func (m *Maker) Batch(ctx context.Context, rels iter.Seq[string], perm fs.FileMode) (*Created, error) {
	created := &Created{m: m}
	paths, bad, err := collect(rels, ctx.Err)
	if err != nil {
		return created, &fs.PathError{Op: "mkdir", Path: bad, Err: err}
	}
	if err := m.acquire(""); err != nil {
		return created, err
	}
	defer m.release()

	b := &batch{m: m, ctx: ctx, perm: perm, epoch: m.known.epoch.Load()}
	b.plan = newPlan(paths, m.known.has)
	if m.undo {
		b.ids = make([]uint64, len(b.plan))
	}
	b.wake.L = &b.mu
	err = b.run()
	created.take(b)
	if err == nil {
		b.remember()
	}
	return created, err
}

// A batch is a Batch under way.
type batch struct {
	m    *Maker
	ctx  context.Context
	perm fs.FileMode
	plan plan

	epoch uint64 // in which the plan relies on known

	mu     sync.Mutex
	wake   sync.Cond
	parent []int32 // existing nodes whose children are to be created
	active int     // workers that may still add to parent
	err    error   // the first one; ends the batch

	ids []uint64 // by node, with Options.Undo: the handle of a created one, or 0
}

// serial is the number of nodes below which starting goroutines costs more
// than it gains.
const serial = 32

// run creates the plan's directories and, at level Power, makes them durable.
func (b *batch) run() error {
	for try := 1; ; try++ {
		err := b.createAll()
		if err != nil || !b.m.power {
			return err
		}
		err = b.syncAll()
		switch {
		case err == nil && b.current():
			return nil
		case err != nil && !notThere(err):
			return err
		case try == tries:
			return b.m.fail("", fs.ErrNotExist)
		case err != nil: // a directory was moved away meanwhile
			b.m.known.clear()
			b.current()
		}
	}
}

// current reports whether the epoch is still that of the batch. If not, known was
// wrong about a directory, and current resets all nodes to be looked up.
func (b *batch) current() bool {
	epoch := b.m.known.epoch.Load()
	if epoch == b.epoch {
		return true
	}
	b.epoch = epoch
	b.reset(cached | exists)
	return false
}

// reset sets the nodes in one of states to missing.
func (b *batch) reset(states uint32) {
	for i := range b.plan {
		if n := &b.plan[i]; n.state.Load()&states != 0 {
			n.state.And(created)
		}
	}
}

// createAll creates every missing node of the plan.
func (b *batch) createAll() error {
	workers := b.m.workers
	if len(b.plan) < serial {
		workers = 1
	}
	for try := 1; ; try++ {
		b.parent = append(b.parent[:0], 0)
		b.active = workers
		var wg sync.WaitGroup
		for range workers - 1 {
			wg.Go(b.work)
		}
		b.work()
		wg.Wait()
		if b.err != nil || b.current() || try == tries {
			return b.err // after the last try syncAll, or the next call, returns an error
		}
	}
}

// work takes parents and creates their children, until there are none and no
// other worker may add one.
func (b *batch) work() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.err == nil {
		if n := len(b.parent); n > 0 {
			p := b.parent[n-1]
			b.parent = b.parent[:n-1]
			b.mu.Unlock()
			err := b.fill(p)
			b.mu.Lock()
			if err != nil && b.err == nil {
				b.err = err
			}
			before := len(b.parent)
			for c := b.plan[p].child; c != 0; c = b.plan[c].next {
				if b.plan[c].child != 0 {
					b.parent = append(b.parent, c)
				}
			}
			if len(b.parent) > before+1 || b.err != nil {
				b.wake.Broadcast()
			}
			continue
		}
		b.active--
		if b.active == 0 {
			b.wake.Broadcast()
			break
		}
		b.wake.Wait()
		b.active++
	}
}

// fill creates the children of p.
func (b *batch) fill(p int32) error {
	m := b.m
	d, prefix, entered := m.root, 0, false
	defer func() { m.leave(d) }()
	for c := b.plan[p].child; c != 0; c = b.plan[c].next {
		n := &b.plan[c]
		if n.state.Load()&^created != missing {
			continue
		}
		if err := b.ctx.Err(); err != nil {
			return m.fail(n.path, err)
		}
		var err error
		failed := n.path
		if !entered {
			d, prefix, err = m.enter(b.plan[p].path)
			if err != nil {
				d, failed = m.root, b.plan[p].path
			}
			entered = err == nil
		}
		if err == nil {
			err = d.Mkdir(n.path[prefix:], b.perm)
			if err == nil {
				b.record(c, d, n.path[prefix:])
				continue
			}
		}
		if errors.Is(err, fs.ErrExist) {
			err = nil // if it is no directory, creating its children fails
			if !b.entersBelow(c) {
				err = m.checkDir(d, n.path[prefix:])
			}
		}
		switch {
		case err == nil:
			n.state.Or(exists)
		case notThere(err):
			if err := b.repair(c); err != nil {
				return err
			}
			m.leave(d)
			d, entered = m.root, false
		default:
			return m.fail(failed, err)
		}
	}
	return nil
}

// entersBelow reports whether a directory is to be created in node c.
func (b *batch) entersBelow(c int32) bool {
	for i := b.plan[c].child; i != 0; i = b.plan[i].next {
		if b.plan[i].state.Load()&cached == 0 {
			return true
		}
	}
	return false
}

// repair creates node c, and directories above it that were removed.
func (b *batch) repair(c int32) error {
	path := b.plan[c].path
	trusted := len(parent(path))
	var epoch uint64 // createAll sees that it has changed
	_, err := b.m.climb(path, trusted, b.perm, &epoch, func(d sys.Dir, name string, end int) {
		i := c
		for len(b.plan[i].path) > end {
			i = b.plan[i].up
		}
		b.record(i, d, name)
	})
	if err == nil {
		b.plan[c].state.Or(exists)
	}
	return err
}

// unidentified is the id of a created directory whose handle could not be read.
const unidentified = math.MaxUint64

// record records that node i was created, as name in d.
func (b *batch) record(i int32, d sys.Dir, name string) {
	b.plan[i].state.Store(exists | created)
	if b.ids != nil {
		var err error
		if b.ids[i], err = d.Handle(name); err != nil {
			b.ids[i] = unidentified
		}
		if notThere(err) {
			b.ids[i] = 0 // removed already: nothing for Undo
		}
	}
}

// syncAll syncs, once each, the parents of the nodes not known to be durable. A
// directory found is synced like one created: its creator may not have synced it
// yet.
func (b *batch) syncAll() error {
	var parents []string
	for i := range b.plan {
		for c := b.plan[i].child; c != 0; c = b.plan[c].next {
			if b.plan[c].state.Load()&cached == 0 {
				parents = append(parents, b.plan[i].path)
				break
			}
		}
	}
	var (
		next atomic.Int64
		wg   sync.WaitGroup
		once sync.Once
		err  error
	)
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(parents) {
				return
			}
			e := b.ctx.Err()
			if e != nil {
				e = b.m.fail(parents[i], e)
			} else {
				e = b.m.syncDir(parents[i])
			}
			if e != nil {
				once.Do(func() { err = e })
				next.Store(int64(len(parents)))
			}
		}
	}
	for range min(b.m.workers, len(parents)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return err
}

// remember adds the existing nodes to the cache.
func (b *batch) remember() {
	const slab = 128 // entries an allocation; one entry keeps its slab in memory
	dirs := make([]knownDir, 0, slab)
	for i := range b.plan {
		n := &b.plan[i]
		if n.state.Load()&exists == 0 {
			continue
		}
		if len(dirs) == slab {
			b.m.known.add(dirs, b.epoch)
			dirs = make([]knownDir, 0, slab)
		}
		dirs = append(dirs, knownDir{path: n.path})
	}
	b.m.known.add(dirs, b.epoch)
}
