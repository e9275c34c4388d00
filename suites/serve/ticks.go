package serve

import (
	"sync"
	"sync/atomic"
	"time"
)

// ticks says when requests of several clients are due, from the first call of wait on.
type ticks struct {
	rate  float64 // a second; 0 is at once
	begin sync.Once
	begun time.Time
	n     atomic.Int64
}

// wait waits until the next request is due, and returns when that was.
func (t *ticks) wait() time.Time {
	if t.rate == 0 {
		return time.Now()
	}
	t.begin.Do(func() { t.begun = time.Now() })
	due := t.begun.Add(time.Duration(float64(t.n.Add(1)-1) / t.rate * float64(time.Second)))
	time.Sleep(time.Until(due))
	return due
}
