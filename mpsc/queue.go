package mpsc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/stele-go/stele/internal/setting"
)

var (
	// ErrFull is the error of TryPush while the queue has Cap values.
	ErrFull = errors.New("mpsc: queue is full")
	// ErrClosed is the error of a push after Close, and of a pop once the queue is
	// also empty.
	ErrClosed = errors.New("mpsc: queue is closed")

	errZero = fmt.Errorf("mpsc: use of a zero Queue; want one made by New: %w", fs.ErrInvalid)
)

// A Queue passes values from many goroutines to one. Push, TryPush, Close, Len and
// Cap are safe for concurrent use. Pop, TryPop and PopBatch are for the consumer:
// one goroutine, or several of which only one is in a call at a time.
//
// Use New to make a Queue. Pushes and pops of the zero value fail with
// fs.ErrInvalid.
type Queue[T any] struct {
	// values[p&mask] belongs to the producer that claimed p until it marks p as
	// filled, then to the consumer until it moves head above p.
	values []T
	ring
	consumer
	producers
}

// New returns a queue for capacity values. It allocates their memory at once, with
// capacity rounded up to a power of two. It panics unless capacity is from 1 to
// 1<<31.
func New[T any](capacity int) *Queue[T] {
	if err := setting.InRange("mpsc: New: capacity", int64(capacity), 1, 1<<31); err != nil {
		panic(err)
	}
	q := &Queue[T]{}
	q.ring.init(capacity)
	q.consumer.init()
	q.values = make([]T, q.mask+1)
	return q
}

// Push appends v to the queue, and waits while the queue is full. After nil the
// consumer pops v exactly once; after an error never. The error is ErrClosed or,
// if ctx is done, wraps ctx.Err() and its cause. A ctx that is done on entry is an
// error even if a slot is free.
func (q *Queue[T]) Push(ctx context.Context, v T) error {
	if ctx.Err() != nil {
		return cancelled("push", ctx)
	}
	// The usual way through claim, which is too large to be inlined.
	p := q.tail.Load()
	if p >= q.limit.Load() || !q.tail.CompareAndSwap(p, p+1) {
		var err error
		p, err = q.claim()
		if err == ErrFull {
			p, err = q.claimLater(ctx)
		}
		if err != nil {
			return err
		}
	}
	q.values[p&q.mask] = v
	q.fill(p)
	return nil
}

// TryPush is Push without waiting: it returns ErrFull while the queue is full.
func (q *Queue[T]) TryPush(v T) error {
	p, err := q.claim()
	if err != nil {
		return err
	}
	q.values[p&q.mask] = v
	q.fill(p)
	return nil
}

// Pop removes the oldest value and returns it. It waits while the queue is empty.
// The error is ErrClosed after the last value of a closed queue or, if ctx is
// done, wraps ctx.Err() and its cause; then no value is removed. A ctx that is
// done on entry is an error even if there is a value.
func (q *Queue[T]) Pop(ctx context.Context) (v T, err error) {
	if ctx.Err() != nil {
		return v, cancelled("pop", ctx)
	}
	if q.capacity == 0 {
		return v, errZero
	}
	if !q.isFilled(q.next) {
		if err := q.await(ctx); err != nil {
			return v, err
		}
	}
	i := q.next & q.mask
	v = q.values[i]
	q.values[i] = *new(T)
	q.free(1)
	return v, nil
}

// TryPop is Pop without waiting: it reports whether there was a value.
//
// Values are popped in the order in which they were accepted. So while a Push is
// under way, TryPop may find no value although a later Push has returned.
func (q *Queue[T]) TryPop() (v T, ok bool) {
	if q.capacity == 0 || !q.isFilled(q.next) {
		return v, false
	}
	i := q.next & q.mask
	v = q.values[i]
	q.values[i] = *new(T)
	q.free(1)
	return v, true
}

// PopBatch moves the oldest values to dst and returns their number. It waits for
// the first as Pop does, and takes all that there are. With a linger above 0 it
// then goes on collecting for at most that time, until dst is full, ctx is done or
// the queue is closed. The number is 0 only with an error, or for an empty dst.
//
// Batches form without a linger too: the values pushed while the consumer
// processes one batch are the next. A linger makes batches larger at the price of
// latency.
func (q *Queue[T]) PopBatch(ctx context.Context, dst []T, linger time.Duration) (int, error) {
	if ctx.Err() != nil {
		return 0, cancelled("pop", ctx)
	}
	if len(dst) == 0 {
		return 0, nil
	}
	if q.capacity == 0 {
		return 0, errZero
	}
	n := q.take(dst)
	if n == 0 {
		if err := q.await(ctx); err != nil {
			return 0, err
		}
		n = q.take(dst)
	}
	if n == len(dst) || linger <= 0 {
		return n, nil
	}
	timeout := q.startTimer(linger)
	defer q.stopTimer()
	for more := true; more && n < len(dst); {
		more = q.awaitMore(ctx, len(dst)-n, timeout)
		n += q.take(dst[n:])
	}
	return n, nil
}

// take moves values to dst without waiting.
func (q *Queue[T]) take(dst []T) int {
	n := q.filled(uint64(len(dst)))
	if n == 0 {
		return 0
	}
	i := q.next & q.mask
	first := q.values[i:min(i+n, uint64(len(q.values)))]
	rest := q.values[:n-uint64(len(first))] // after the end of the ring
	copy(dst, first)
	copy(dst[len(first):], rest)
	clear(first) // so that a slot keeps nothing alive
	clear(rest)
	q.free(n)
	return int(n)
}

// free returns the next n slots to the producers.
func (q *Queue[T]) free(n uint64) {
	q.next += n
	q.head.Store(q.next)
	if q.waiting.Load() {
		q.wakeProducer()
	}
}

// fill publishes the value at p, which the caller has claimed and written.
func (q *Queue[T]) fill(p uint64) {
	q.marks[p&q.mask].Store(mark(p))
	if p == q.wakeAt.Load() {
		q.wakeConsumer(p)
	}
}

// Close closes the queue. Later pushes, and those that wait, fail with ErrClosed.
// The consumer pops all accepted values, then gets ErrClosed. A second Close does
// nothing.
func (q *Queue[T]) Close() {
	q.tail.Or(closedBit)
	q.wakeConsumer(q.wakeAt.Load())
	q.wakeAllProducers()
}

// Len returns the number of values accepted and not yet popped.
func (q *Queue[T]) Len() int { return q.ring.len() }

// Cap returns the capacity given to New.
func (q *Queue[T]) Cap() int { return int(q.capacity) }
