package lab

import (
	"time"

	"github.com/stele-go/stele/lab/run"
)

// ownFigures are what a block's variant has said about its figures.
type ownFigures struct {
	open bool // OpenModel was called
}

// OpenModel says that the operations of this block arrive at times of their own,
// whether or not those before them have ended. Each operation then reports its
// latency by Took, from the time at which it was to start, so that an operation that
// waits behind a stalled one counts its wait (no coordinated omission). The mean of
// these latencies is the time of an operation; throughput is that of the wall time.
// Call OpenModel before the loop. Operations are timed one by one.
func (b *B) OpenModel() { b.own.open, b.batch = true, 1 }

// Took sets the latency of the operation that Loop admitted last, in place of the
// time until the next call of Loop. Operations must be timed one by one: see
// B.OpenModel.
func (w *Worker) Took(latency time.Duration) { w.own = max(int64(latency), 1) }

// fillOwn writes the figures that the variant took itself.
func (b *B) fillOwn(block *run.Block) {
	if b.own.open {
		for _, w := range b.workers {
			block.Response += run.Nanos(w.sum)
		}
	}
}
