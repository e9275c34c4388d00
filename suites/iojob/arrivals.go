package iojob

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"
)

// arrivals are the times at which the operations of one thread are to start, in an
// open model. A nil *arrivals is a closed model.
type arrivals struct {
	rng   *rand.Rand
	gap   float64 // mean, in nanoseconds
	fixed bool
	start time.Time
	at    float64 // of the next one, since start
}

// newArrivals returns the arrivals of a thread. Those of all threads together are a
// Poisson process, or equally spaced.
func newArrivals(j *Job, rng *rand.Rand, thread int) *arrivals {
	if !j.open() {
		return nil
	}
	a := &arrivals{rng: rng, gap: 1e9 * float64(j.Threads) / j.Rate, fixed: j.Arrivals == fixedLaw}
	if a.fixed {
		a.at = a.gap * float64(thread) / float64(j.Threads)
	} else {
		a.at = a.gap * rng.ExpFloat64()
	}
	return a
}

func (a *arrivals) begin() { a.start = time.Now() }

// next returns when the next operation is to start.
func (a *arrivals) next() time.Time { return a.start.Add(time.Duration(a.at)) }

// take goes on to the operation after it.
func (a *arrivals) take() {
	if a.fixed {
		a.at += a.gap
	} else {
		a.at += a.gap * a.rng.ExpFloat64()
	}
}

// spin is the time before an operation that is not slept: a sleep ends late by up to
// that much, and the latency would have it.
const spin = 150 * time.Microsecond

// waitUntil returns at the time until, or once ctx is done.
func waitUntil(ctx context.Context, until time.Time) {
	for {
		left := time.Until(until)
		switch {
		case left <= 0:
			return
		case left > spin:
			time.Sleep(min(left-spin, 50*time.Millisecond))
		default:
			runtime.Gosched()
		}
		if ctx.Err() != nil {
			return
		}
	}
}
