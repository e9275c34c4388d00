package mpsc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

var (
	// ErrFull is what TryPush says when Cap values wait.
	ErrFull = errors.New("mpsc: queue is full")
	// ErrClosed is what producers get once Close was called, and the consumer
	// once it has also been given all that was accepted before.
	ErrClosed = errors.New("mpsc: queue is closed")

	errUnmade = fmt.Errorf("mpsc: queue was not made by New: %w", fs.ErrInvalid)
)

// A Queue passes values from many goroutines to one. Push, TryPush, Close,
// Len and Cap may be called by any goroutine at any time. Pop, TryPop and
// PopBatch belong to the consumer: one goroutine, or several that see to it
// that only one of them is in a call.
//
// A Queue is made by New. The zero value holds nothing: pushes and pops have an
// error that wraps fs.ErrInvalid.
type Queue[T any] struct {
	// values[p&mask] belongs to the producer that claimed p, until it marks p
	// as filled; then to the consumer, until it moves head above p.
	values []T
	ring
	consumer
	producers
}

// New makes a queue that holds capacity values. The memory for them is taken
// at once, for capacity rounded up to a power of two. It panics if capacity is
// below 1 or above 1<<31.
func New[T any](capacity int) *Queue[T] {
	if capacity < 1 || uint64(capacity) > 1<<31 {
		panic("mpsc: capacity out of range")
	}
	q := &Queue[T]{}
	q.ring.init(capacity)
	q.consumer.init()
	q.values = make([]T, q.mask+1)
	return q
}

// Push adds v behind all that was pushed before. While the queue is full it
// waits. If it returns nil v was accepted, and the consumer is given it
// exactly once. If it returns an error v was not accepted, and never will be:
// ErrClosed, or, if ctx is done, one that wraps ctx.Err() and its cause. A ctx
// that is done on entry adds nothing even if there is room.
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

// TryPush is Push without waiting: while the queue is full it returns ErrFull.
func (q *Queue[T]) TryPush(v T) error {
	p, err := q.claim()
	if err != nil {
		return err
	}
	q.values[p&q.mask] = v
	q.fill(p)
	return nil
}

// Pop takes the oldest value, and waits while there is none. Its error is
// ErrClosed after the last value of a closed queue, or, if ctx is done, one
// that wraps ctx.Err() and its cause; then no value was taken. A ctx that is
// done on entry takes nothing even if there is a value.
func (q *Queue[T]) Pop(ctx context.Context) (v T, err error) {
	if ctx.Err() != nil {
		return v, cancelled("pop", ctx)
	}
	if q.capacity == 0 {
		return v, errUnmade
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
// Values are given out in the order in which they were accepted. So while one
// Push is under way, TryPop may find none although a later Push has returned.
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

// PopBatch fills dst with the oldest values and returns their number. It
// waits for the first as Pop does, and takes with it all that are there. If
// dst has room left then, and linger is above 0, it goes on collecting for at
// most that time from the first on: until dst is full, ctx is done or the
// queue closed. The number is 0 only on error, or if dst is empty.
//
// Without linger batches form by themselves: what is pushed while the
// consumer is busy with one batch is the next. A linger makes batches larger
// at the price of so much latency.
func (q *Queue[T]) PopBatch(ctx context.Context, dst []T, linger time.Duration) (int, error) {
	if ctx.Err() != nil {
		return 0, cancelled("pop", ctx)
	}
	if len(dst) == 0 {
		return 0, nil
	}
	if q.capacity == 0 {
		return 0, errUnmade
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

// take moves all values that are there to dst, as far as it goes.
func (q *Queue[T]) take(dst []T) int {
	n := q.filled(uint64(len(dst)))
	if n == 0 {
		return 0
	}
	i := q.next & q.mask
	first := q.values[i:min(i+n, uint64(len(q.values)))]
	rest := q.values[:n-uint64(len(first))] // of the next lap
	copy(dst, first)
	copy(dst[len(first):], rest)
	clear(first) // so that nothing is kept alive by a slot
	clear(rest)
	q.free(n)
	return int(n)
}

// free hands the next n slots back to the producers.
func (q *Queue[T]) free(n uint64) {
	q.next += n
	q.head.Store(q.next)
	if q.waiting.Load() {
		q.wakeProducer()
	}
}

// fill makes the value at p, which the caller has claimed and written,
// readable.
func (q *Queue[T]) fill(p uint64) {
	q.marks[p&q.mask].Store(mark(p))
	if p == q.wakeAt.Load() {
		q.wakeConsumer(p)
	}
}

// Close ends the queue: from then on no value is accepted, and producers that
// wait get ErrClosed. The consumer is given all that was accepted, and then
// ErrClosed. Closing again does nothing.
func (q *Queue[T]) Close() {
	q.tail.Or(closedBit)
	q.wakeConsumer(q.wakeAt.Load())
	q.wakeAllProducers()
}

// Len is the number of values accepted and not yet given to the consumer. It
// may be out of date when it returns.
func (q *Queue[T]) Len() int { return q.ring.len() }

// Cap is the capacity given to New.
func (q *Queue[T]) Cap() int { return int(q.capacity) }
