package logstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/stele-go/stele/latency"
	"github.com/stele-go/stele/logstore/internal/block"
)

// Order is the order of the entries that a query finds.
type Order uint8

const (
	Forward  Order = iota // the oldest first
	Backward              // the newest first
)

// A Query says which entries are wanted.
type Query struct {
	Selector Selector // of streams; nil is all
	Filter   Filter   // of entries; nil is all
	// From and To are the times, in nanoseconds since 1970, of the entries:
	// From <= time < To. To 0 is no end: no entry has the time math.MaxInt64,
	// which Append refuses.
	From, To int64
	// Order is by time; entries of one stream with equal times are in the order
	// they were appended in, those of different streams in that of their labels,
	// by names and values. Backward is all of that the other way round.
	Order Order
	// Limit is how many entries are found at most. 0 is all.
	Limit int
}

// Query ranges over the entries that q asks for, as they are when the iteration
// begins: each acknowledged before is found, each once. It streams, stops early
// at the limit, and uses a bounded part of Options.Memory whatever it finds: a
// query that has none waits for others to end. Many goroutines may query at
// once; the iterator is for one. Its consumer may take its time: no append waits
// for it, and it keeps nothing in memory beyond that part; but the files of
// segments that are merged or deleted meanwhile stay on the disk until it ends.
//
// An error that is a *CorruptError tells of entries that cannot be read, and
// the iteration goes on; any other one is the last step: that of ctx, ErrClosed,
// or one of a file that cannot be read. A store that still replays its log after
// a crash (see Store.Ready) yields what it has by then, and a last error that is
// ErrReplaying.
func (s *Store) Query(ctx context.Context, q Query) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		more := true
		whole := s.counts.queries.Start()
		first := s.counts.firsts.Start()
		err := s.query(ctx, q, func(f Result, err error) bool {
			first.Stop()
			first = latency.Timer{}
			more = yield(f, err)
			return more
		})
		if err == nil || !more {
			first.Stop()
			whole.Stop()
			return
		}
		yield(Result{}, fmt.Errorf("logstore: query of %s: %w", s.dir, err))
	}
}

func (s *Store) query(ctx context.Context, q Query, yield func(Result, error) bool) error {
	x, err := s.search(ctx, q)
	if err != nil {
		return err
	}
	w := newScan(x)
	defer w.end()
	if err := w.begin(); err != nil {
		return err
	}
	w.job = w.readEntries
	if x.limit > 0 && x.limit <= maxTopKeys {
		w.top = &topKeys{limit: x.limit}
		if x.filter == nil {
			// Which entries are wanted is told by times alone: lines are read only
			// where some are.
			if err := w.scanTimes(yield); err != nil || w.stopped {
				return err
			}
		}
	}
	if err := w.emit(yield); err != nil {
		return err
	}
	if w.stopped {
		return nil
	}
	return x.view.partial
}

// A search is what a query looks through.
type search struct {
	ctx      context.Context
	store    *Store
	view     *view
	labels   labelCache
	selector Selector
	from, to int64
	backward bool
	limit    int
	filter   *condition // or nil
	require  requirement
	chunks   chunkFilter

	endContext func()
}

// search begins one, with the least memory that a query has: a sweep ends it.
func (s *Store) search(ctx context.Context, q Query) (*search, error) {
	if s.log == nil {
		return nil, errUnopened
	}
	x := &search{store: s, selector: q.Selector, from: q.From, to: q.To, backward: q.Order == Backward, limit: q.Limit}
	if x.to == 0 {
		x.to = math.MaxInt64
	}
	switch {
	case q.From < 0 || q.To < 0 || q.From > x.to:
		return nil, fmt.Errorf("Query.From, To: %d to %d; want 0 or more, and no end before the beginning", q.From, q.To)
	case q.Order > Backward:
		return nil, fmt.Errorf("Query.Order: %d; want Forward or Backward", q.Order)
	case q.Limit < 0:
		return nil, fmt.Errorf("Query.Limit: %d; want 0 (no limit) or more", q.Limit)
	}
	if q.Filter != nil {
		x.filter = q.Filter.compiled()
		x.require = x.filter.require
		x.chunks.test = x.filter.text
	}
	x.ctx, x.endContext = s.reads.begin(ctx)
	if x.ctx.Err() != nil {
		x.endContext()
		return nil, context.Cause(x.ctx)
	}
	// Memory first: a query that waits for it has no view, which would keep memtables.
	err := s.reads.memory.acquire(x.ctx, s.reads.minBytes)
	if err != nil {
		x.endContext()
		return nil, err
	}
	if x.view, err = s.acquire(); err != nil {
		s.reads.memory.release(s.reads.minBytes)
		x.endContext()
		return nil, err
	}
	x.labels = labelCache{index: s.labels, byStream: map[uint32]*streamLabels{}}
	return x, nil
}

// A key is a time such that what comes first has the lower key.
func (x *search) key(time int64) int64 {
	if x.backward {
		return ^time
	}
	return time
}

// keys returns the keys of the first and the last of the times min to max that
// are searched.
func (x *search) keys(min_, max_ int64) (start, end int64) {
	min_, max_ = max(min_, x.from), min(max_, x.to-1)
	if x.backward {
		return ^max_, ^min_
	}
	return min_, max_
}

// times returns the times, [from, to), of the keys from start to end.
func (x *search) times(start, end int64) (from, to int64) {
	if x.backward {
		start, end = ^end, ^start
	}
	from = max(x.from, start)
	if to = x.to; end < to {
		to = end + 1
	}
	return from, to
}

// asDamage returns the error of damaged bytes as this package tells of it, and
// whether err is one.
func asDamage(err error) (*CorruptError, bool) {
	return errors.AsType[*CorruptError](exportError(err))
}

// wrapDamage is the error of a block that has its checksum and is wrong all the same.
func (b *blockSource) wrapDamage(err error) error {
	if err == nil || !errors.Is(err, block.ErrDamaged) {
		return err
	}
	return b.corrupt(err)
}

func (b *blockSource) corrupt(err error) *CorruptError {
	return &CorruptError{b.segs.Path(b.segment), 0, fmt.Sprintf("block %d: %v", b.block, err)}
}
