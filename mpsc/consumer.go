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

// spins is how often the consumer looks at the next slot before it sleeps: for
// some 10 ns, much less than falling asleep and being woken costs, so that a
// wait costs hardly more than without. Each look takes the cache line away from
// the producer that is about to write it, and short batches cost more a value
// than long ones: on two cores 50 and 200 looks were slower.
const spins = 10

// consumer is where the consumer sleeps.
//
// No wake-up is lost: the consumer stores wakeAt and then looks at the slot
// and at closedBit again; a producer marks its slot as filled, and Close sets
// closedBit, and then loads wakeAt. Go's atomic operations have one order that
// all goroutines agree on (the Go memory model). So if the consumer's look
// misses the mark, the load sees wakeAt. A wake-up too many is possible, and
// costs the consumer one more look.
type consumer struct {
	// wakeAt is the position whose filling wakes the consumer.
	wakeAt atomic.Uint64
	// waiting says that producers wait and none of them is about to run; see
	// producers. It stands here because it is written as rarely as wakeAt, and
	// read as often.
	waiting atomic.Bool
	_       pad

	wake  chan struct{} // of capacity 1: a wake-up that is there already serves
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

// await waits until the next value may be read. It fails with ErrClosed if
// there will be none, or if ctx is done.
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

// awaitMore sleeps until n more values, or half the capacity if that is less,
// may be read, and reports true; also earlier, if it has to look again. It
// reports false when there is no more waiting: at the timeout, if ctx is done,
// or if all values of a closed queue are taken.
func (q *Queue[T]) awaitMore(ctx context.Context, n int, timeout <-chan time.Time) bool {
	// Half the capacity: so that the producers do not stand still meanwhile.
	at := q.next + min(uint64(n), (q.capacity+1)/2) - 1
	q.wakeAt.Store(at)
	if q.isFilled(at) || q.isClosed() {
		// What is missing lies before at, and nobody would tell.
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

// cancelled is the error of op for a ctx that is done.
func cancelled(op string, ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return fmt.Errorf("mpsc: %s: %w", op, err)
	}
	return fmt.Errorf("mpsc: %s: %w: %w", op, err, cause)
}
