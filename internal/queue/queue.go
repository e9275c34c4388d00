// Package queue is a bounded FIFO queue from many goroutines to one, drained
// in batches: a ring of values under a mutex.
//
// It is for a consumer that works at the speed of a file system. There
// package mpsc, which takes no lock, gained nothing in BenchmarkAppend of wal and
// BenchmarkQueue of newfile, with either in turn.
package queue

import (
	"context"
	"errors"
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
// TryPopBatch belong to the consumer: one goroutine at a time. A push or a pop
// allocates nothing.
type Queue[T any] struct {
	mu     sync.Mutex
	ring   []T
	head   int // index in ring of the oldest value
	count  int
	closed bool
	// want is the count for which the sleeping consumer is woken; 0: it is
	// awake.
	want int
	// waiting counts the producers that wait for a free slot.
	waiting int

	ready chan struct{} // of capacity 1; wakes the consumer
	freed chan struct{} // of capacity 1; wakes one producer, and when closed all
	timer *time.Timer   // the consumer's; made when first needed
}

// New returns a queue of the given capacity, at least 1, whose memory is
// allocated at once.
func New[T any](capacity int) *Queue[T] {
	return &Queue[T]{ring: make([]T, capacity), ready: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

// Push appends v to the queue, and waits while the queue is full. Values are FIFO,
// waiting producers are not: a new Push may take a slot before them. After nil
// the consumer gets v exactly once; after an error, ErrClosed or ctx.Err(),
// never.
func (q *Queue[T]) Push(ctx context.Context, v T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	for !q.closed && q.count == len(q.ring) {
		q.waiting++
		q.mu.Unlock()
		var err error
		select {
		case <-q.freed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		q.mu.Lock()
		q.waiting--
		if err != nil {
			q.mu.Unlock()
			return err
		}
	}
	return q.pushAndUnlock(v)
}

// TryPush is Push without waiting: it returns ErrFull while the queue is full.
func (q *Queue[T]) TryPush(v T) error {
	q.mu.Lock()
	if !q.closed && q.count == len(q.ring) {
		q.mu.Unlock()
		return ErrFull
	}
	return q.pushAndUnlock(v)
}

func (q *Queue[T]) pushAndUnlock(v T) error {
	if q.closed {
		q.mu.Unlock()
		return ErrClosed
	}
	i := q.head + q.count
	if i >= len(q.ring) {
		i -= len(q.ring)
	}
	q.ring[i] = v
	q.count++
	wake := q.want > 0 && q.count >= q.want
	if wake {
		q.want = 0
	}
	q.wakeProducer() // the producer that was woken wakes the next
	q.mu.Unlock()
	if wake {
		signal(q.ready)
	}
	return nil
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

// take moves values to dst.
func (q *Queue[T]) take(dst []T) int {
	n := min(len(dst), q.count)
	if n == 0 {
		return 0
	}
	first := q.ring[q.head:min(q.head+n, len(q.ring))]
	rest := q.ring[:n-len(first)]
	copy(dst, first)
	copy(dst[len(first):], rest)
	clear(first) // so that a slot keeps nothing alive
	clear(rest)
	q.head = (q.head + n) % len(q.ring)
	q.count -= n
	q.wakeProducer()
	return n
}

// wakeProducer wakes a producer that waits, if there is a free slot.
func (q *Queue[T]) wakeProducer() {
	if q.waiting > 0 && q.count < len(q.ring) && !q.closed {
		signal(q.freed)
	}
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
	if !q.closed {
		q.closed = true
		close(q.freed)
		signal(q.ready)
	}
}

// Len returns the number of values in the queue.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

// Cap returns the capacity.
func (q *Queue[T]) Cap() int { return len(q.ring) }

// signal sends without waiting: a signal that is there already serves.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
