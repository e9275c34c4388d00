// Package queue is a bounded FIFO queue from many goroutines to one, drained
// in batches: a ring of values under a mutex.
//
// It is for a consumer that works at the speed of a file system. Package mpsc, which
// takes no lock, gains little there: BenchmarkAppend of wal and BenchmarkQueue of
// newfile are as fast with either, but for records of 64 bytes from 1,024 appenders at
// level None, which take 1.2 times as long with this one.
package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

var (
	// ErrFull is the error of TryPush while the queue is full.
	ErrFull = errors.New("queue: full")
	// ErrClosed is the error of a push after Close, and of PopBatch once the
	// queue is also empty.
	ErrClosed = errors.New("queue: closed")
)

// A Queue passes values from many goroutines to one consumer. PopBatch and
// TryPopBatch are for the consumer: one goroutine at a time. A push that does not
// wait allocates nothing, nor does a pop.
type Queue[T any] struct {
	mu     sync.Mutex
	ring   []T
	head   int // index in ring of the oldest value
	count  int
	closed bool
	// want is the count for which the sleeping consumer is woken; 0: it is
	// awake.
	want int
	// waiting are the producers that wait for a slot, in the order of their
	// calls. While there are any, the ring is full.
	waiting []*producer[T]

	ready chan struct{} // of capacity 1; wakes the consumer
	timer *time.Timer   // the consumer's; made when first needed
}

// A producer is a Push that waits.
type producer[T any] struct {
	v    T
	done chan struct{} // closed when v is in the ring, or err is set
	err  error
}

// New returns a queue of the given capacity, at least 1, whose memory is
// allocated at once.
func New[T any](capacity int) *Queue[T] {
	if capacity < 1 {
		panic(fmt.Sprintf("queue: New: a capacity of %d; want 1 or more", capacity))
	}
	return &Queue[T]{ring: make([]T, capacity), ready: make(chan struct{}, 1)}
}

// Push appends v to the queue, and waits while the queue is full. Values are FIFO
// in the order of the calls, those that wait included. After nil the consumer gets v
// exactly once; after an error, ErrClosed or ctx.Err(), never.
func (q *Queue[T]) Push(ctx context.Context, v T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.lock()
	if q.closed || q.count < len(q.ring) {
		return q.pushAndUnlock(v)
	}
	p := &producer[T]{v: v, done: make(chan struct{})}
	q.waiting = append(q.waiting, p)
	q.mu.Unlock()
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, p); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return ctx.Err()
	}
	return p.err // admitted or refused at the same moment
}

// TryPush is Push without waiting: it returns ErrFull while the queue is full.
func (q *Queue[T]) TryPush(v T) error {
	q.lock()
	if !q.closed && q.count == len(q.ring) {
		q.mu.Unlock()
		return ErrFull
	}
	return q.pushAndUnlock(v)
}

// lock locks mu for a push. mu is held for a microsecond at most, so lock tries
// for that long: with other goroutines to run, sync.Mutex.Lock parks this one
// at once (sync_runtime_canSpin in the runtime). Without it, those appends at
// level None took 1.5 times as long as with it.
func (q *Queue[T]) lock() {
	for range 1000 {
		if q.mu.TryLock() {
			return
		}
	}
	q.mu.Lock()
}

func (q *Queue[T]) pushAndUnlock(v T) error {
	if q.closed {
		q.mu.Unlock()
		return ErrClosed
	}
	q.ring[q.free()] = v
	wake := q.want > 0 && q.count >= q.want
	if wake {
		q.want = 0
	}
	q.mu.Unlock()
	if wake {
		q.wake()
	}
	return nil
}

// free returns the index of the next free slot and counts it as used. The ring must
// not be full.
func (q *Queue[T]) free() int {
	i := q.head + q.count
	if i >= len(q.ring) {
		i -= len(q.ring)
	}
	q.count++
	return i
}

// wake wakes the consumer. A signal that is there already serves.
func (q *Queue[T]) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// PopBatch moves the oldest values to dst, which is not empty, and returns
// their number. It waits for the first value. With a linger above 0 it then
// goes on collecting for that long, until dst is full, ctx is done or the
// queue is closed. After an error, ErrClosed or ctx.Err(), no value was taken.
func (q *Queue[T]) PopBatch(ctx context.Context, dst []T, linger time.Duration) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.count == 0 {
		if q.closed {
			return 0, ErrClosed
		}
		if err := q.sleep(ctx, 1, nil); err != nil {
			return 0, err
		}
	}
	n := q.take(dst)
	if n == len(dst) || linger <= 0 {
		return n, nil
	}
	timeout := q.startTimer(linger)
	defer q.timer.Stop()
	for n < len(dst) && !q.closed {
		// Half the capacity: so that producers need not wait meanwhile.
		err := q.sleep(ctx, min(len(dst)-n, (len(q.ring)+1)/2), timeout)
		n += q.take(dst[n:])
		if err != nil {
			break
		}
	}
	return n, nil
}

// TryPopBatch is PopBatch without waiting.
func (q *Queue[T]) TryPopBatch(dst []T) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take(dst)
}

// errTimeout ends a linger.
var errTimeout = errors.New("queue: timeout")

// sleep releases mu until the queue has want values or is closed. It may
// return earlier; with an error if ctx is done or timeout fires.
func (q *Queue[T]) sleep(ctx context.Context, want int, timeout <-chan time.Time) (err error) {
	if q.count >= want {
		return nil
	}
	q.want = want
	q.mu.Unlock()
	select {
	case <-q.ready:
	case <-timeout:
		err = errTimeout
	case <-ctx.Done():
		err = ctx.Err()
	}
	q.mu.Lock()
	q.want = 0
	return err
}

// take moves values to dst, and gives the slots to waiting producers.
func (q *Queue[T]) take(dst []T) (taken int) {
	for taken < len(dst) && q.count > 0 {
		n := min(len(dst)-taken, q.count)
		first := q.ring[q.head:min(q.head+n, len(q.ring))]
		rest := q.ring[:n-len(first)]
		taken += copy(dst[taken:], first)
		taken += copy(dst[taken:], rest)
		clear(first) // so that a slot keeps nothing alive
		clear(rest)
		q.head = (q.head + n) % len(q.ring)
		q.count -= n
		q.admit()
	}
	return taken
}

// admit moves the values of waiting producers to the free slots.
func (q *Queue[T]) admit() {
	n := min(len(q.waiting), len(q.ring)-q.count)
	for _, p := range q.waiting[:n] {
		q.ring[q.free()] = p.v
		close(p.done)
	}
	q.waiting = slices.Delete(q.waiting, 0, n)
}

func (q *Queue[T]) startTimer(d time.Duration) <-chan time.Time {
	if q.timer == nil {
		q.timer = time.NewTimer(d)
	} else {
		q.timer.Reset(d)
	}
	return q.timer.C
}

// Close closes the queue: pushes return ErrClosed, those that wait too, and
// PopBatch does once it has returned every value.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, p := range q.waiting {
		p.err = ErrClosed
		close(p.done)
	}
	q.waiting = nil
	q.wake()
}

// Len returns the number of values in the queue.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

// Cap returns the capacity.
func (q *Queue[T]) Cap() int { return len(q.ring) }
