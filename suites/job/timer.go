package job

import (
	"fmt"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
)

// A Timer times each operation by itself: two readings of the clock are in each figure.
type Timer struct{ Hist *run.Histogram }

// NewTimer returns an empty Timer.
func NewTimer() Timer { return Timer{Hist: run.NewHistogram()} }

// Since records the time since begin.
func (s Timer) Since(begin time.Time) { s.Hist.Record(max(1, int64(time.Since(begin)))) }

// Report reports mean, median and 99th percentile as metrics whose names begin with
// prefix, or why there is no percentile.
func (s Timer) Report(b *lab.B, prefix string) {
	b.Report(prefix+"_mean_ns", s.Hist.Mean())
	for _, p := range []float64{50, 99} {
		name := fmt.Sprintf("%s_p%.0f_ns", prefix, p)
		if err := stats.CheckPercentile(p, s.Hist.Count(), 0.95); err != nil {
			b.ReportMissing(name, err.Error())
			continue
		}
		b.Report(name, s.Hist.Quantile(p/100))
	}
}
