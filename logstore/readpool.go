package logstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/internal/semaphore"
)

// A readPool is shared by all queries and tails of a store: their memory, and
// their end at Close.
type readPool struct {
	workers  int
	memory   *semaphore.Weighted // bytes of results that wait for their consumers
	minBytes int64               // of memory, for each query
	maxBytes int64               // the most that a query gets
	reserve  int64               // left for other queries when one gets more than minBytes
	sumBytes int64               // the most that a query takes for what it sums up
	readings chan *reading       // of decoders; the capacity is how many may decode at once
	// readingShare is the most bytes that all readings keep for the next sources, and
	// readingUsed what they take.
	readingShare int64
	readingUsed  atomic.Int64
	results      resultPools
	batches      sync.Pool // of *resultBatch
	tails        tails

	idleAfter time.Duration // see parkIdle

	mu      sync.Mutex
	closed  bool
	waiters int                                   // for memory
	parking bool                                  // idle scans are looked for
	cancels map[*context.CancelCauseFunc]struct{} // of running queries and tails
	scans   map[*scan]struct{}                    // running
}

// A BusyError reports a query for which there is too little memory, as other queries have
// it. errors.Is(err, ErrBusy) holds. The query may be tried again once some of them have
// ended, or with a narrower range of times.
type BusyError struct {
	// Wanted bytes are more than there are: Free of the Limit that queries share, which
	// is a share of Options.Memory.
	Wanted, Free, Limit int64
	Queries             int // that run
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%v: %d bytes wanted, %d of %d free, %d queries run", ErrBusy, e.Wanted, e.Free, e.Limit, e.Queries)
}

func (e *BusyError) Unwrap() error { return ErrBusy }

// busy returns the error of a search that wants more memory.
func (r *readPool) busy(wanted int64) error {
	r.mu.Lock()
	running := len(r.scans)
	r.mu.Unlock()
	return &BusyError{wanted, r.memory.Free(), r.memory.Size(), running}
}

const (
	// readingBytes is the least memory of a decoder, and maxReading the most that one
	// keeps: a block of columns takes 3 to 6 MiB.
	readingBytes = 1 << 20
	maxReading   = 8 << 20
)

func newReadPool(memory int64, workers int) *readPool {
	r := &readPool{workers: workers, idleAfter: idleAfter, cancels: map[*context.CancelCauseFunc]struct{}{}, scans: map[*scan]struct{}{}}
	results := resultShare.of(memory)
	r.memory = semaphore.New(results)
	r.minBytes = min(results/8, 2<<20)
	r.maxBytes = results / 2
	r.reserve = results / 2
	r.sumBytes = results / 4 * 3
	r.readingShare = decoderShare.of(memory)
	r.readings = make(chan *reading, max(2, min(r.readingShare/readingBytes, int64(2*workers))))
	for range cap(r.readings) {
		r.readings <- nil
	}
	r.tails.memory = tailShare.of(memory)
	r.tails.large.limit = r.tails.memory / 4
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

// handOver makes all queries release the memtables that have been sealed.
func (r *readPool) handOver() {
	for _, s := range r.running() {
		s.mu.Lock()
		if !s.end.closed {
			handOver(s)
			if len(s.workers.reads) > 0 {
				s.wake() // workers, and a consumer that waited for one
			}
		}
		s.mu.Unlock()
	}
}

// running returns the scans that are running.
func (r *readPool) running() []*scan {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.scans))
}
