package lab

import (
	"time"

	"github.com/stele-go/stele/lab/run"
)

// ownFigures are what a block's variant has said about its figures.
type ownFigures struct {
	open    bool             // OpenModel was called
	role    string           // of the block
	counted map[string]int64 // by SetSyscalls
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

// Timed runs f, which does the N operations of the block and returns the time that
// they took: for operations with untimed work between them, and for loops that have
// a timer of their own. There are no latencies of single operations unless
// SetLatency gives them. Metrics of the process include the untimed work. Timed takes
// the place of Loop and Parallel.
func (b *B) Timed(f func() (time.Duration, error)) error {
	w := b.worker(b.N)
	b.begin()
	took, err := f()
	b.end()
	b.wall = max(took, 1)
	if err == nil {
		w.done = b.N
	}
	return err
}

// Counting reports whether system calls are counted in this block, which is then no
// datum. A variant whose operation is a process of its own counts them itself, and
// calls SetSyscalls.
func (b *B) Counting() bool { return b.own.role == run.RoleCounted }

// SetSyscalls gives the number of system calls of all operations, by name, in place
// of the calls that the lab counted in this process. It is for a block that is Counting.
func (b *B) SetSyscalls(calls map[string]int64) { b.own.counted = calls }

// fillOwn writes the figures that the variant took itself.
func (b *B) fillOwn(block *run.Block) {
	if b.own.open {
		for _, w := range b.workers {
			block.Response += run.Nanos(w.sum)
		}
	}
	if b.own.counted == nil || block.Ops == 0 {
		return
	}
	var all int64
	for _, n := range b.own.counted {
		all += n
	}
	block.Syscalls = b.own.counted
	block.Metrics[run.MetricSyscalls] = float64(all) / float64(block.Ops)
	delete(block.Missing, run.MetricSyscalls)
}
