package logstore

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// A readPool is shared by all queries and tails of a store: their memory, and
// their end at Close.
type readPool struct {
	workers  int
	memory   semaphore     // bytes of results that wait for their consumers
	minBytes int64         // what a query has of it at least
	maxBytes int64         // and at most
	reserve  int64         // what is left of it for others, beyond grant
	scratch  chan *scratch // what decoding takes; as many as may be at it at once
	results  resultPools
	tails    tails

	mu      sync.Mutex
	closed  bool
	cancels map[*context.CancelCauseFunc]struct{} // of running queries and tails
	scans   map[*scan]struct{}                    // that may have to hand memtables over
}

// A quarter of Options.Memory is for queries: results, the buffers of decoders,
// and those of tails.
const (
	resultShare  = 6 // a sixth
	scratchShare = 16
	tailShare    = 48
	// scratchBytes is about the memory of one decoder.
	scratchBytes = 1 << 20
)

func newReadPool(memory int64, workers int) *readPool {
	r := &readPool{workers: workers, cancels: map[*context.CancelCauseFunc]struct{}{}, scans: map[*scan]struct{}{}}
	r.memory.free = memory / resultShare
	r.minBytes = min(r.memory.free/8, 2<<20)
	r.maxBytes = r.memory.free / 2
	r.reserve = r.memory.free / 2
	r.scratch = make(chan *scratch, max(2, min(memory/scratchShare/scratchBytes, int64(2*workers))))
	for range cap(r.scratch) {
		r.scratch <- nil
	}
	r.tails.memory = memory / tailShare
	return r
}

// begin returns a context that ends with ctx and, with the cause ErrClosed,
// with the store. end frees it.
func (r *readPool) begin(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		cancel(ErrClosed)
	}
	r.cancels[&cancel] = struct{}{}
	return ctx, func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.cancels, &cancel)
	}
}

// close ends all queries and tails, with ErrClosed. It does not wait for them.
func (r *readPool) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for cancel := range r.cancels {
		(*cancel)(ErrClosed)
	}
}

// switchSealed makes all queries release the memtables that have been sealed.
func (r *readPool) switchSealed() {
	r.mu.Lock()
	scans := slices.Collect(maps.Keys(r.scans))
	r.mu.Unlock()
	for _, s := range scans {
		s.mu.Lock()
		if !s.closed {
			s.switchSealed()
			if len(s.starts) > 0 {
				s.wake() // to workers, and a consumer that had some to wait for
			}
		}
		s.mu.Unlock()
	}
}

// A semaphore is weighted, by bytes. Waiters are served in turn.
type semaphore struct {
	mu    sync.Mutex
	free  int64
	queue []*semaphoreWaiter
}

type semaphoreWaiter struct {
	bytes   int64
	granted chan struct{}
}

// acquire waits for n bytes.
func (b *semaphore) acquire(ctx context.Context, n int64) error {
	b.mu.Lock()
	if len(b.queue) == 0 && b.free >= n {
		b.free -= n
		b.mu.Unlock()
		return nil
	}
	w := &semaphoreWaiter{n, make(chan struct{})}
	b.queue = append(b.queue, w)
	b.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	i := slices.Index(b.queue, w)
	if i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
	}
	b.mu.Unlock()
	if i < 0 {
		b.release(n) // granted at the same moment
	} else {
		b.release(0) // the next one may need less
	}
	return context.Cause(ctx)
}

// tryAcquire takes up to n bytes, but leaves reserve bytes, if there are no
// waiters, and returns how many it took.
func (b *semaphore) tryAcquire(n, leave int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 {
		return 0
	}
	n = max(0, min(n, b.free-leave))
	b.free -= n
	return n
}

func (b *semaphore) release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
	for len(b.queue) > 0 && b.queue[0].bytes <= b.free {
		b.free -= b.queue[0].bytes
		close(b.queue[0].granted)
		b.queue = slices.Delete(b.queue, 0, 1)
	}
}
