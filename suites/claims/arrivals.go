package claims

import (
	"fmt"
	"runtime"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
)

// openArrivals makes calls that are due at random, on average every gap: their number in a
// time has a Poisson distribution. One goroutine serves them. The latency of a call counts
// from when it was due, so one that takes long counts for all that wait behind it.
func openArrivals(b *lab.B, gap time.Duration, do func() error) (*run.Histogram, error) {
	latency, err := openArrivalsAt(b, gap, func(func() time.Duration) error { return do() })
	b.SetLatency(latency)
	return latency, err
}

// openArrivalsAt is openArrivals for calls that may go on after they return: since returns
// the time since the call was due. The goroutine looks at the clock until the next is due,
// because timers wake it tens of microseconds late.
func openArrivalsAt(b *lab.B, gap time.Duration, do func(since func() time.Duration) error) (*run.Histogram, error) {
	latency := run.NewHistogram()
	due := time.Duration(0)
	var begun time.Time
	for b.Loop() {
		if begun.IsZero() { // Loop collects garbage before the first operation
			begun = time.Now()
		}
		due += time.Duration(b.Rand.ExpFloat64() * float64(gap))
		for time.Since(begun) < due {
			runtime.Gosched()
		}
		was := due
		if err := do(func() time.Duration { return time.Since(begun) - was }); err != nil {
			return latency, err
		}
		latency.Record(max(1, int64(time.Since(begun)-due)))
	}
	return latency, nil
}

// reportPercentile reports a percentile of a histogram as NAME_pNN_ns, or why it is missing.
func reportPercentile(b *lab.B, name string, h *run.Histogram, p float64) {
	metric := fmt.Sprintf("%s_p%.0f_ns", name, p)
	if err := stats.CheckPercentile(p, h.Count(), 0.95); err != nil {
		b.ReportMissing(metric, err.Error())
		return
	}
	b.Report(metric, h.Quantile(p/100))
}
