package serve

import (
	"sync/atomic"
	"time"
)

// ticks says when requests of several clients are due.
type ticks struct {
	rate  float64 // a second; 0 is at once
	begun time.Time
	n     atomic.Int64
}

func newTicks(rate float64) *ticks { return &ticks{rate: rate, begun: time.Now()} }

// wait waits until the next request is due, and returns when that was.
func (t *ticks) wait() time.Time {
	if t.rate == 0 {
		return time.Now()
	}
	due := t.begun.Add(time.Duration(float64(t.n.Add(1)-1) / t.rate * float64(time.Second)))
	time.Sleep(time.Until(due))
	return due
}
