package lab

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// windowsPerBlock is how many windows the block time is cut into. Few enough
// that reading the heap at each cut does not show in the figures.
const windowsPerBlock = 16

// B is one block, as Variant.Run gets it. Only the goroutine that runs
// Variant.Run may call its methods.
type B struct {
	// N is the number of operations of all loops of this block together.
	N int64
	// Dir is an empty directory of this block alone. Another process removes it
	// after the block.
	Dir string
	// Params are the experiment's.
	Params run.Params
	// Rand is seeded for this block; the blocks of one round share the seed,
	// so that variants are given the same work.
	Rand *rand.Rand

	ctx      context.Context
	shared   string // where Shared puts its directories; "" for a block by itself
	batch    int64
	window   time.Duration
	started  bool
	ended    bool
	start    time.Time
	wall     time.Duration
	pace     time.Duration // between the starts of two operations; 0 is as soon as can be
	idle     time.Duration // spent waiting for the next start, and at the ends of windows
	meter    meter
	gauged   bool       // windows have what /proc says, which takes system calls
	watch    *selfTrace // nil but in blocks of role waits
	timer    *callTimer // nil but in blocks of role traced
	w        *Worker    // of Loop
	workers  []*Worker
	parallel int // workers of Parallel
	inFlight int // operations of each goroutine at a time; 0 is one
	bytes    int64
	latency  *run.Histogram // in place of that of the workers, where it is not nil
	extra    map[string]float64
	missing  map[string]string
	own      ownFigures
}

// Context returns a context that is done once the run is cancelled.
func (b *B) Context() context.Context { return b.ctx }

// Loop reports whether to do another operation. The timer starts at
// its first call and stops at its last, the one that returns false. One
// reading of the clock ends an operation and starts the next (chained
// readings), so no time falls between operations; operations that take less
// than a microsecond are timed several at a time.
func (b *B) Loop() bool {
	if b.w == nil {
		b.w = b.worker(b.N)
		b.begin()
	}
	if b.w.Loop() {
		return true
	}
	b.end()
	return false
}

// Pace makes Loop start an operation every interval, measured from the start of the
// one before. After an operation that takes longer the next one starts at once; late
// starts are not made up for. The time that Loop waits is neither in a latency nor in
// the block's wall time; windows include it. Operations are timed one by one. Call
// Pace before Loop; it has no effect on Parallel. Set Experiment.Ops too: the pilot
// does not see the waiting.
func (b *B) Pace(interval time.Duration) { b.pace, b.batch = interval, 1 }

// await waits until the next operation may start, and returns the time then.
func (b *B) await(last, now time.Duration) time.Duration {
	wait := last + b.pace - now
	if wait <= 0 {
		return now
	}
	select {
	case <-time.After(wait):
	case <-b.ctx.Done():
	}
	started := time.Since(b.start)
	b.idle += started - now
	return started
}

// I returns the number of the operation that Loop admitted last, from 0.
func (b *B) I() int64 { return b.w.I() }

// Parallel runs f in n goroutines, which share the N operations equally, and
// returns once all of them have returned, with the first error. The timer runs
// from the start of the first to the end of the last.
func (b *B) Parallel(n int, f func(w *Worker) error) error {
	b.parallel = n
	ws := make([]*Worker, n)
	share, rest := b.N/int64(n), b.N%int64(n)
	for i := range ws {
		k := share
		if int64(i) < rest {
			k++
		}
		ws[i] = b.worker(k)
		ws[i].ID = i
	}
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
	)
	b.begin()
	for _, w := range ws {
		wg.Go(func() {
			if err := f(w); err != nil {
				once.Do(func() { first = err })
			}
		})
	}
	b.watch.workers(wg.Wait)
	b.end()
	return first
}

// SetBytes sets the number of bytes that one operation moves, for throughput.
func (b *B) SetBytes(perOp int64) { b.bytes = perOp }

// SetLatency replaces the latencies that Loop measures. It is for variants with several
// operations in flight: the time between two completions is not the time of one.
func (b *B) SetLatency(h *run.Histogram) { b.latency = h }

// InFlight says that each goroutine of the block keeps n operations in flight. The time
// between two that end is no operation's own time then, so reports show operations a
// second; SetLatency gives the times of single operations.
func (b *B) InFlight(n int) { b.inFlight = n }

// Report adds a metric of the variant's own to the block, in its own unit.
func (b *B) Report(name string, value float64) {
	if b.extra == nil {
		b.extra = map[string]float64{}
	}
	b.extra[name] = value
}

// ReportMissing records why a metric of the variant's own could not be taken.
func (b *B) ReportMissing(name, reason string) {
	if b.missing == nil {
		b.missing = map[string]string{}
	}
	b.missing[name] = reason
}

func (b *B) begin() {
	if b.started {
		panic("lab: a block has one loop: call B.Loop or B.Parallel once")
	}
	b.started = true
	runtime.GC() // garbage of the preparation is not collected during the operations
	for i, w := range b.workers {
		w.meter.gcs.read() // collections up to here belong to no window
		if i == 0 && b.gauged {
			w.meter.open()
		}
	}
	b.watch.start()
	b.meter.begin()
	b.watch.begin()
	b.timer.begin()
	b.start = time.Now()
}

func (b *B) end() {
	b.wall = time.Since(b.start) - b.idle
	b.timer.end()
	b.watch.end()
	b.meter.end()
	b.watch.stop()
	b.ended = true
	for _, w := range b.workers {
		w.meter.close()
	}
}

func (b *B) worker(n int64) *Worker {
	w := &Worker{b: b, n: n, batch: b.batch, hist: run.NewHistogram(), meter: windowMeter{gcs: newGCReader()}, wins: make([]run.Window, 0, windowsPerBlock+2)}
	b.workers = append(b.workers, w)
	return w
}

// A Worker is one goroutine of B.Parallel. Its methods are for that
// goroutine only.
type Worker struct {
	// ID numbers the workers of a block from 0.
	ID int

	b     *B
	n     int64 // operations that this worker does
	done  int64 // operations finished and counted
	left  int64 // operations admitted and not yet finished
	inner int64 // of left, those that run before the clock is read again
	batch int64
	last  time.Duration // since b.start
	own   int64         // latency that Took gave for the operation under way, in ns; 0 if it gave none
	sum   int64         // of the latencies that Took gave
	hist  *run.Histogram
	win   run.Window
	wins  []run.Window
	meter windowMeter
}

// I is the number of the operation that Loop admitted last, from 0, of this
// worker.
func (w *Worker) I() int64 { return w.done + w.left - w.inner - 1 }

// Loop is B.Loop for one worker.
func (w *Worker) Loop() bool {
	if w.inner > 0 {
		w.inner--
		return true
	}
	return w.next()
}

// next reads the clock, records the operations since the last reading, and admits the
// next ones.
func (w *Worker) next() bool {
	now := time.Since(w.b.start)
	if w.left > 0 {
		took := int64(now - w.last)
		if w.own > 0 {
			took, w.own = w.own, 0
			w.sum += took
		}
		per := took / w.left
		w.hist.Record(max(per, 1))
		w.done += w.left
		w.win.Ops += w.left
		w.win.Mean += float64(took) // a sum until the window ends
		w.win.Max = max(w.win.Max, float64(took)/float64(w.left))
		if now-time.Duration(w.win.At) >= w.b.window {
			w.endWindow(now)
			now = time.Since(w.b.start) // ending a window is not an operation
		}
		if w.b.pace > 0 && w == w.b.w && w.done < w.n {
			now = w.b.await(w.last, now)
		}
	} else {
		w.win.At = run.Nanos(now)
	}
	w.last = now
	w.left = min(w.batch, w.n-w.done)
	if w.left <= 0 || w.b.ctx.Err() != nil {
		w.left = 0
		w.endWindow(now)
		return false
	}
	w.inner = w.left - 1
	return true
}

func (w *Worker) endWindow(now time.Duration) {
	if w.win.Ops > 0 {
		w.win.Mean /= float64(w.win.Ops)
		w.win.Len = run.Nanos(now) - w.win.At
		if w.ID == 0 {
			w.meter.read(&w.win)
		}
		w.wins = append(w.wins, w.win)
		if w == w.b.w {
			w.b.idle += time.Since(w.b.start) - now
		}
	}
	w.win = run.Window{At: run.Nanos(now)}
}
