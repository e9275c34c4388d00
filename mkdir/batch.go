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

// Batch makes all the directories rels, as All does for one, and each
// distinct directory among them and their parents once, by one mkdirat. It
// tells what it made. What a finished batch made survives what Options.Level
// says; each path is there up to some level after a crash in the middle
// (durability.Prefix).
//
// rels is read once, to its end, before anything is made. If one of the paths
// is refused nothing is made.
//
// On error, a cancelled ctx among them, Created holds what was made until
// then. It can be undone, or the batch run again, which makes the rest. At
// level Power what a failed batch made is not known to be durable.
//
// The directories of one parent are made one after the other, by one
// goroutine, because the kernel locks the parent for each. A batch takes about
// 50 bytes of memory a directory and the length of each path.
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

// batch is a Batch under way.
type batch struct {
	m    *Maker
	ctx  context.Context
	perm fs.FileMode
	plan plan

	epoch uint64 // of what the plan takes to be known

	mu     sync.Mutex
	wake   sync.Cond
	parent []int32 // nodes that exist and whose children are to be made
	active int     // workers that may still add to parent
	err    error   // the first one; ends the batch

	ids []uint64 // by node, with Options.Undo: what was made, or 0
}

// serial is the number of nodes below which starting goroutines costs more
// than it gains.
const serial = 32

// run makes what is to be made and, at level Power, durable.
func (b *batch) run() error {
	for try := 1; ; try++ {
		err := b.makeAll()
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
		case err != nil: // somebody has moved a part away meanwhile
			b.m.known.clear()
			b.current()
		}
	}
}

// current reports whether what the batch relied on still stands. If not, the
// memory was wrong about one directory, and the disk is to be asked about all.
func (b *batch) current() bool {
	epoch := b.m.known.epoch.Load()
	if epoch == b.epoch {
		return true
	}
	b.epoch = epoch
	b.reset(recalled | there)
	return false
}

// reset makes nodes in one of states be made again.
func (b *batch) reset(states uint32) {
	for i := range b.plan {
		if n := &b.plan[i]; n.state.Load()&states != 0 {
			n.state.And(made)
		}
	}
}

// makeAll makes every node of the plan that is not known.
func (b *batch) makeAll() error {
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
			return b.err // after so many tries syncAll, or the next call, will tell
		}
	}
}

// work takes parents and fills them until there are none and nobody is left
// who could add one.
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

// fill makes the children of p.
func (b *batch) fill(p int32) error {
	m := b.m
	d, cut, entered := m.root, 0, false
	defer func() { m.leave(d) }()
	for c := b.plan[p].child; c != 0; c = b.plan[c].next {
		n := &b.plan[c]
		if n.state.Load()&^made != todo {
			continue
		}
		if err := b.ctx.Err(); err != nil {
			return m.fail(n.path, err)
		}
		var err error
		blame := n.path
		if !entered {
			d, cut, err = m.enter(b.plan[p].path)
			if err != nil {
				d, blame = m.root, b.plan[p].path
			}
			entered = err == nil
		}
		if err == nil {
			err = d.Mkdir(n.path[cut:], b.perm)
			if err == nil {
				b.made(c, d, n.path[cut:])
				continue
			}
		}
		if errors.Is(err, fs.ErrExist) {
			err = nil // if it is no directory, its children will tell
			if !b.entersBelow(c) {
				err = m.checkDir(d, n.path[cut:])
			}
		}
		switch {
		case err == nil:
			n.state.Or(there)
		case notThere(err):
			if err := b.repair(c); err != nil {
				return err
			}
			m.leave(d)
			d, entered = m.root, false
		default:
			return m.fail(blame, err)
		}
	}
	return nil
}

// entersBelow reports whether anything is to be made in node c.
func (b *batch) entersBelow(c int32) bool {
	for i := b.plan[c].child; i != 0; i = b.plan[i].next {
		if b.plan[i].state.Load()&recalled == 0 {
			return true
		}
	}
	return false
}

// repair makes node c, and above it what somebody has removed.
func (b *batch) repair(c int32) error {
	path := b.plan[c].path
	trusted := len(parent(path))
	var epoch uint64 // makeAll sees that it has changed
	_, err := b.m.climb(path, trusted, b.perm, &epoch, func(d sys.Dir, name string, end int) {
		i := c
		for len(b.plan[i].path) > end {
			i = b.plan[i].up
		}
		b.made(i, d, name)
	})
	if err == nil {
		b.plan[c].state.Or(there)
	}
	return err
}

// unidentified is the id of a directory that was made and could not be asked for
// its own.
const unidentified = math.MaxUint64

// made notes that node i was made, as name in d.
func (b *batch) made(i int32, d sys.Dir, name string) {
	b.plan[i].state.Store(there | made)
	if b.ids != nil {
		var err error
		if b.ids[i], err = d.Handle(name); err != nil {
			b.ids[i] = unidentified
		}
		if notThere(err) {
			b.ids[i] = 0 // gone already: nothing for Undo
		}
	}
}

// syncAll syncs, once each, the parents of all that is not known to be
// durable. What was found is synced like what was made: whoever made it may
// not have come to sync it yet.
func (b *batch) syncAll() error {
	var parents []string
	for i := range b.plan {
		for c := b.plan[i].child; c != 0; c = b.plan[c].next {
			if b.plan[c].state.Load()&recalled == 0 {
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

// remember adds to the cache what is there now.
func (b *batch) remember() {
	const slab = 128 // entries an allocation; one that stays keeps its slab
	dirs := make([]knownDir, 0, slab)
	for i := range b.plan {
		n := &b.plan[i]
		if n.state.Load()&there == 0 {
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
