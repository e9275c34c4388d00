package logstore

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// reads is what all queries and tails of a store share: the memory that they
// may use, and the end of the store.
type reads struct {
	workers int
	budget  budget        // bytes of results that wait for their consumers
	grant   int64         // what a query has of it at least
	most    int64         // and at most
	leave   int64         // what is left of it for others, beyond grant
	scratch chan *scratch // what decoding takes; as many as may be at it at once
	founds  foundPools
	tails   tails

	mu     sync.Mutex
	closed bool
	ends   map[*context.CancelCauseFunc]struct{} // of those that run
	sweeps map[*sweep]struct{}                   // that may have to hand memtables over
}

// The share of Options.Memory that is for queries is a quarter: results, the
// buffers of decoders, and those of tails.
const (
	resultShare  = 6 // a sixth
	scratchShare = 16
	tailShare    = 48
	// scratchBytes is about what one decoder takes.
	scratchBytes = 1 << 20
)

func newReads(memory int64, workers int) *reads {
	r := &reads{workers: workers, ends: map[*context.CancelCauseFunc]struct{}{}, sweeps: map[*sweep]struct{}{}}
	r.budget.free = memory / resultShare
	r.grant = min(r.budget.free/8, 2<<20)
	r.most = r.budget.free / 2
	r.leave = r.budget.free / 2
	r.scratch = make(chan *scratch, max(2, min(memory/scratchShare/scratchBytes, int64(2*workers))))
	for range cap(r.scratch) {
		r.scratch <- nil
	}
	r.tails.memory = memory / tailShare
	return r
}

// begin returns a context that ends with ctx and, with the cause ErrClosed,
// with the store. end frees it.
func (r *reads) begin(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		cancel(ErrClosed)
	}
	r.ends[&cancel] = struct{}{}
	return ctx, func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.ends, &cancel)
	}
}

// close ends all queries and tails, with ErrClosed. It does not wait for them.
func (r *reads) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for cancel := range r.ends {
		(*cancel)(ErrClosed)
	}
}

// handOver has all queries give back the memtables that have been sealed.
func (r *reads) handOver() {
	r.mu.Lock()
	sweeps := slices.Collect(maps.Keys(r.sweeps))
	r.mu.Unlock()
	for _, s := range sweeps {
		s.mu.Lock()
		if !s.closed {
			s.handOver()
			if len(s.begun) > 0 {
				s.report() // to workers, and a consumer that had some to wait for
			}
		}
		s.mu.Unlock()
	}
}

// A budget is bytes that many share. Those that wait get theirs in turn.
type budget struct {
	mu      sync.Mutex
	free    int64
	waiting []*waiter
}

type waiter struct {
	bytes int64
	got   chan struct{}
}

// take waits for n bytes.
func (b *budget) take(ctx context.Context, n int64) error {
	b.mu.Lock()
	if len(b.waiting) == 0 && b.free >= n {
		b.free -= n
		b.mu.Unlock()
		return nil
	}
	w := &waiter{n, make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.mu.Unlock()
	select {
	case <-w.got:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	i := slices.Index(b.waiting, w)
	if i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	b.mu.Unlock()
	if i < 0 {
		b.give(n) // it came at the same moment
	} else {
		b.give(0) // the next one may need less
	}
	return context.Cause(ctx)
}

// try takes up to n bytes, but for the last leave ones, if nobody waits, and
// returns how many.
func (b *budget) try(n, leave int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 {
		return 0
	}
	n = max(0, min(n, b.free-leave))
	b.free -= n
	return n
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
	for len(b.waiting) > 0 && b.waiting[0].bytes <= b.free {
		b.free -= b.waiting[0].bytes
		close(b.waiting[0].got)
		b.waiting = slices.Delete(b.waiting, 0, 1)
	}
}
