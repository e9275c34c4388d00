package rw

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync/atomic"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of the mixed load.
const (
	variantPageCache = "page cache"
	variantPastCache = "past the page cache"
)

// Metrics of the Go scheduler during the load.
const (
	SchedMean = "sched_wait_mean_ns"
	schedP50  = "sched_wait_p50_ns"
	SchedP99  = "sched_wait_p99_ns"
	IdleShare = "idle_procs_share"
)

// mixedOps bounds a block of the mixed load, in which each of a thousand goroutines
// should do more than one operation.
const mixedOps = 200_000

// mixed asks what a load of reads, writes and stats does to the scheduler.
func mixed(s job.Scale, goroutines int) lab.Experiment {
	e := lab.Experiment{
		Suite: "rw", Name: "mixed", Params: run.Params{"goroutines": strconv.Itoa(goroutines)},
		Question: fmt.Sprintf("How long do %d goroutines that read, write and stat wait for a processor?", goroutines),
		Op:       fmt.Sprintf("a third each of 4 KiB read, 4 KiB written, at random pages of a file of %s, and one stat of it", units.Size(rewrittenBytes)),
		// Writes go over what is there, so each way can do as many as fill the time
		// of a block.
		MaxOps: mixedOps, Stateless: true,
	}
	for _, w := range []struct{ name, doc, state string }{
		{variantPageCache, "os.File.ReadAt and WriteAt through the page cache, which seldom wait, and os.Stat", datafile.Warm},
		{variantPastCache, "the same with O_DIRECT: each read and write waits for the device", datafile.Direct},
	} {
		e.Variants = append(e.Variants, lab.Variant{
			Name: w.name, Doc: w.doc, Promise: killTorn, Baseline: w.state == datafile.Warm,
			Run: func(b *lab.B) (err error) {
				f, err := newRewritten(b, s.Of(rewrittenBytes), w.state)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				rw, err := openerOf(w.state)(f.Name(), os.O_RDWR)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, rw.Close()) }()
				if err := runMixed(b, rw, f.Size, goroutines); err != nil {
					return err
				}
				return stillIs(b, f, w.state)
			},
		})
	}
	return e
}

func runMixed(b *lab.B, f *os.File, size int64, goroutines int) error {
	rngs, pages := make([]*rand.Rand, goroutines), make([][]byte, goroutines)
	for i := range goroutines {
		rngs[i], pages[i] = rand.New(rand.NewPCG(b.Rand.Uint64(), uint64(i))), datafile.Touched(sys.AlignedBuffer(datafile.PageSize, datafile.PageSize))
	}
	return WatchScheduler(b, goroutines, func(w *lab.Worker) error {
		rng, page := rngs[w.ID], pages[w.ID]
		off := rng.Int64N(size/datafile.PageSize) * datafile.PageSize
		var err error
		switch (w.I() + int64(w.ID)) % 3 {
		case 0:
			_, err = f.ReadAt(page, off)
		case 1:
			_, err = f.WriteAt(page, off)
		default:
			_, err = os.Stat(f.Name())
		}
		return err
	})
}

// WatchScheduler does the block's operations in goroutines and reports how long these
// waited for a processor (SchedMean, SchedP99), and which share of the processors was
// idle (IdleShare).
func WatchScheduler(b *lab.B, goroutines int, op func(w *lab.Worker) error) error {
	var before, after schedReading
	var left atomic.Int64
	left.Store(int64(goroutines))
	err := b.Parallel(goroutines, func(w *lab.Worker) error {
		if w.ID == 0 {
			before = readScheduler() // as it was after the collection before the timed part
		}
		defer func() {
			// The last goroutine makes the runtime add up while the timer still runs: that
			// takes less than a millisecond, and afterwards there is no load.
			if left.Add(-1) == 0 {
				runtime.GC()
				after = readScheduler()
			}
		}()
		for w.Loop() {
			if err := op(w); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		after.report(b, before)
	}
	return err
}

// A schedReading has the counters of the Go scheduler at a moment.
type schedReading struct {
	waits       *metrics.Float64Histogram
	idle, total float64 // seconds of all processors of the runtime
}

// readScheduler reads the counters. The runtime adds up the processors' time at
// the end of a garbage collection only (runtime/metrics, /cpu/classes).
func readScheduler() schedReading {
	samples := []metrics.Sample{
		{Name: "/sched/latencies:seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"},
	}
	metrics.Read(samples)
	var r schedReading
	for i, s := range samples {
		switch {
		case s.Value.Kind() == metrics.KindBad: // a runtime that does not count it
		case i == 0:
			r.waits = s.Value.Float64Histogram()
		case i == 1:
			r.idle = s.Value.Float64()
		default:
			r.total = s.Value.Float64()
		}
	}
	return r
}

// report reports the difference from an earlier reading. A processor whose goroutine is
// in a short system call counts as busy.
func (r schedReading) report(b *lab.B, before schedReading) {
	for name, p := range map[string]float64{schedP50: 50, SchedP99: 99} {
		if ns, err := waitPercentile(before.waits, r.waits, p); err != nil {
			b.ReportMissing(name, err.Error())
		} else {
			b.Report(name, ns)
		}
	}
	if mean, err := waitMean(before.waits, r.waits); err != nil {
		b.ReportMissing(SchedMean, err.Error())
	} else {
		b.Report(SchedMean, mean)
	}
	if r.total > before.total {
		b.Report(IdleShare, (r.idle-before.idle)/(r.total-before.total))
	} else {
		b.ReportMissing(IdleShare, "the Go runtime did not count the time of its processors")
	}
}

var errNoWaits = errors.New("this Go runtime does not report how long goroutines wait")

// waitMean returns the mean, in nanoseconds, of the waits that the histogram after has
// beyond before. Each counts as the middle of its bucket, which is at most an eighth
// off (runtime/histogram.go).
func waitMean(before, after *metrics.Float64Histogram) (float64, error) {
	if before == nil || after == nil {
		return 0, errNoWaits
	}
	var sum, count float64
	for i := range after.Counts {
		lo, hi := after.Buckets[i], after.Buckets[i+1]
		if math.IsInf(hi, 1) {
			hi = lo
		}
		n := float64(after.Counts[i] - before.Counts[i])
		sum, count = sum+n*(max(lo, 0)+hi)/2, count+n
	}
	if count == 0 {
		return 0, errors.New("no goroutine was seen waiting for a processor")
	}
	return sum / count * 1e9, nil
}

// waitPercentile returns a percentile, in nanoseconds, of the waits that the histogram
// after has beyond before: the upper edge of its bucket.
func waitPercentile(before, after *metrics.Float64Histogram, p float64) (float64, error) {
	if before == nil || after == nil {
		return 0, errNoWaits
	}
	seconds, err := stats.BucketPercentile(before, after, p, 0.95)
	return seconds * 1e9, err
}
