package logstore

import (
	"context"
	"iter"
	"slices"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// Follow ranges over what q selects, and then over new entries, in the order in
// which they are acknowledged, until ctx is done. Every entry comes once: those
// whose Append had returned before the first step with the first part, in the
// order of q, and all that are appended later behind it. Limit, After, MaxBytes
// and Stats are those of the first part, and Cursors must not be set. Follow
// waits until the store is ready.
//
// A consumer may be slow: entries for which there is no memory, see Tail, are
// read from the store again, in order of time. Only entries that were deleted by
// then are missed. Errors are those of Query and Tail, but for a *LaggedError.
func (s *Store) Follow(ctx context.Context, q Query) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		f := follower{store: s, q: q, yield: yield}
		if err := f.run(ctx); err != nil && !f.stopped {
			yield(Result{}, s.opError("follow", err))
		}
	}
}

// A positionRange is positions of the log, [since, upto); upto 0 is no end.
type positionRange struct{ since, upto uint64 }

func (p *positionRange) isAll() bool                 { return *p == positionRange{} }
func (p *positionRange) has(pos uint64) bool         { return pos >= p.since && (p.upto == 0 || pos < p.upto) }
func (p *positionRange) meets(i *segment2.Info) bool { return i.Upto >= p.since }

// A follower is one Follow.
//
// It takes boundaries: positions of the log at moments at which no record is
// being appended, so that all lower ones are with the tail, and the others will
// be. What the tail could not buffer lies between two boundaries.
type follower struct {
	store   *Store
	q       Query
	yield   func(Result, error) bool
	stopped bool
	tail    *tail
	had     tailBuffer
	filter  tailFilter
	low     uint64   // all entries at lower positions were yielded
	yielded []uint64 // positions from low on that were, too
}

// A follower remembers an eighth of its buffer's share of positions before it waits for a
// boundary, but not fewer or more than these: each boundary waits for all appends.
const (
	leastYielded = 1 << 8
	mostYielded  = 1 << 12
)

func (f *follower) run(ctx context.Context) error {
	s := f.store
	if f.q.Cursors {
		return setting.Wrong("logstore: Query.Cursors", true, "false for Follow")
	}
	if err := f.q.check(); err != nil {
		return err
	}
	sel, err := f.q.Selector.compile()
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx); err != nil {
		return err
	}
	ctx, end := s.reads.begin(ctx)
	defer end()
	f.tail = newTail(f.q.Tenant, sel, &s.reads.tails.large)
	f.tail.follows = true
	s.appending.Lock()
	f.low = s.nextPosition()
	s.reads.tails.add(f.tail)
	s.appending.Unlock()
	defer func() {
		s.reads.tails.remove(f.tail)
		f.tail.swap(f.had)
		f.tail.swap(tailBuffer{})
	}()
	q := f.q
	q.positions = positionRange{0, f.low}
	if err := s.query(ctx, q, f.pass); err != nil || f.stopped {
		return err
	}
	for err == nil && !f.stopped {
		err = f.next(ctx)
	}
	return err
}

// pass yields a result of a query.
func (f *follower) pass(r Result, err error) bool {
	r.id = segment2.ID{}
	f.stopped = !f.yield(r, err)
	return !f.stopped
}

// next yields what the tail has, and waits for more.
func (f *follower) next(ctx context.Context) error {
	boundary := f.take()
	if f.had.lost > 0 {
		return f.reread(ctx)
	}
	for entries := range slices.Chunk(f.had.entries, 64) {
		matched, panicked := f.filter.match(&f.had, entries, f.q.Filter)
		for _, e := range matched {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !f.q.hasTime(e.time) {
				continue
			}
			if !f.pass(Result{Labels: e.labels, Entry: Entry{e.time, f.had.line(e), e.metadata}}, nil) {
				return nil
			}
		}
		if panicked != nil {
			return panicked
		}
	}
	if boundary != 0 {
		f.advance(boundary)
	} else {
		f.yielded = append(f.yielded, f.had.positions...)
		f.tail.noteYielded(f.yielded)
	}
	select {
	case <-f.tail.notify:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take takes the buffer of the tail: at a boundary, which it returns, if there is
// one now, or must be.
func (f *follower) take() (boundary uint64) {
	s := f.store
	locked := s.appending.TryLock()
	if !locked && len(f.yielded) > f.tail.mostYielded() {
		s.appending.Lock()
		locked = true
	}
	f.had = f.tail.swap(f.had)
	if locked {
		boundary = s.nextPosition()
		s.appending.Unlock()
	}
	return boundary
}

// reread yields what the tail had or lost from the store, up to a new boundary.
func (f *follower) reread(ctx context.Context) error {
	s := f.store
	s.appending.Lock()
	f.had = f.tail.swap(f.had)
	f.had = f.tail.swap(f.had)
	q := f.again(s.nextPosition())
	s.appending.Unlock()
	slices.Sort(f.yielded) // appends that run at once tell theirs in any order
	err := s.query(ctx, q, func(r Result, err error) bool {
		if _, ok := slices.BinarySearch(f.yielded, r.id.Position); ok && err == nil {
			return true
		}
		return f.pass(r, err)
	})
	f.advance(q.positions.upto)
	return err
}

// again returns the query for what lies between the boundary before and one.
func (f *follower) again(boundary uint64) Query {
	q := Query{Tenant: f.q.Tenant, Selector: f.q.Selector, Filter: f.q.Filter, From: f.q.From, To: f.q.To, Workers: f.q.Workers, Cursors: true}
	q.positions = positionRange{f.low, boundary}
	return q
}

// advance notes that all entries at positions below a boundary were yielded.
func (f *follower) advance(boundary uint64) {
	f.low = boundary
	if cap(f.yielded) > f.tail.mostYielded() {
		f.yielded = nil
	}
	f.yielded = f.yielded[:0]
	f.tail.noteYielded(f.yielded)
}

// noteYielded counts the memory of the positions that the follower of t remembers.
func (t *tail) noteYielded(positions []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.yielded = int64(cap(positions)) * positionBytes
}

// mostYielded returns how many positions the follower of t may remember.
func (t *tail) mostYielded() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(min(max(leastYielded, t.most/8/positionBytes), mostYielded))
}
