package mpsc

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// never is the wakeAt of a consumer that is awake.
const never = math.MaxUint64

// spins is the number of checks of the next slot before the consumer sleeps. They
// take some 10 ns, much less than falling asleep and being woken. Each check takes
// the cache line from the producer that is about to write it, and short batches
// cost more a value than long ones: on two cores 50 and 200 checks were slower.
const spins = 10

// consumer puts the consumer to sleep and wakes it.
//
// No wake-up is lost: the consumer stores wakeAt and then checks the slot and
// closedBit again; a producer marks its slot as filled, or Close sets closedBit,
// and then loads wakeAt. Go's atomic operations have one total order (the Go memory
// model). So if the check misses the mark, the load sees wakeAt. A spurious wake-up
// is possible, and costs the consumer one more check.
type consumer struct {
	// wakeAt is the position whose filling wakes the consumer.
	wakeAt atomic.Uint64
	// waiting is set while producers wait and none of them is woken; see
	// producers. It is beside wakeAt because it is written as rarely and read as
	// often.
	waiting atomic.Bool
	_       pad

	wake  chan struct{} // of capacity 1: one pending wake-up is enough
	timer *time.Timer   // for lingering; made when first needed
}

func (c *consumer) init() {
	c.wake = make(chan struct{}, 1)
	c.wakeAt.Store(never)
}

// wakeConsumer wakes the consumer if it sleeps until p is filled.
func (c *consumer) wakeConsumer(p uint64) {
	if p != never && c.wakeAt.CompareAndSwap(p, never) {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// await waits until the next position is filled. It fails with ErrClosed if it
// never will be, or if ctx is done.
func (q *Queue[T]) await(ctx context.Context) error {
	for range spins {
		if q.isFilled(q.next) {
			return nil
		}
	}
	for {
		q.wakeAt.Store(q.next)
		if q.isFilled(q.next) {
			q.wakeAt.Store(never)
			return nil
		}
		if q.isDrained() {
			q.wakeAt.Store(never)
			return ErrClosed
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			q.wakeAt.Store(never)
			return cancelled("pop", ctx)
		}
	}
}

// awaitMore sleeps until n more positions, or half the capacity if that is less,
// are filled, and reports true; perhaps earlier. It reports false to end the
// linger: at the timeout, if ctx is done, or if all values of a closed queue are
// taken.
func (q *Queue[T]) awaitMore(ctx context.Context, n int, timeout <-chan time.Time) bool {
	// Half the capacity, so that producers need not wait meanwhile.
	at := q.next + min(uint64(n), (q.capacity+1)/2) - 1
	q.wakeAt.Store(at)
	if q.isFilled(at) || q.isClosed() {
		// The positions that are not filled are before at: filling them would
		// not wake the consumer.
		q.wakeAt.Store(q.next)
	}
	defer q.wakeAt.Store(never)
	if q.isFilled(q.next) {
		return true
	}
	if q.isDrained() {
		return false
	}
	select {
	case <-q.wake:
		return true
	case <-timeout:
		return false
	case <-ctx.Done():
		return false
	}
}

func (c *consumer) startTimer(d time.Duration) <-chan time.Time {
	if c.timer == nil {
		c.timer = time.NewTimer(d)
	} else {
		c.timer.Reset(d)
	}
	return c.timer.C
}

func (c *consumer) stopTimer() { c.timer.Stop() }

// cancelled returns the error of op for a ctx that is done.
func cancelled(op string, ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return fmt.Errorf("mpsc: %s: %w", op, err)
	}
	return fmt.Errorf("mpsc: %s: %w: %w", op, err, cause)
}
