package run

import (
	"strings"

	"github.com/stele-go/stele/lab/stats"
)

// A Warning is one reason to doubt the figures of a variant or of a place. The
// Warn constants say which of its values a code comes with; what the
// Environment or the VariantResult itself says is not said again.
type Warning struct {
	Code   string `json:"code"`
	N      int64  `json:"n,omitempty"`
	Of     int64  `json:"of,omitempty"`
	Rounds []int  `json:"rounds,omitempty"`
	Text   string `json:"text,omitempty"` // words of the system, or of a run of version 1
}

// Codes of warnings about a variant.
const (
	WarnFailed     = "failed"       // N of Of blocks failed, the first with Text; where it is empty they did no operations
	WarnNotTimed   = "not-timed"    // no block has a datum
	WarnFewBlocks  = "few-blocks"   // N blocks; an interval takes Of
	WarnOutliers   = "outliers"     // in Rounds
	WarnUnsteady   = "unsteady"     // see Steady
	WarnTrend      = "trend"        // see Steady
	WarnBatched    = "batched"      // a reading of the clock stands for N operations
	WarnNoSync     = "no-sync"      // it promises Power, wrote in N operations of the counting blocks, and never asked for a sync
	WarnOutOfRange = "out-of-range" // N latencies are below 1 ns or above an hour, and in no percentile
)

// steady applies the steady-state rule and the test for a trend to the data
// of a variant; order holds their rounds.
func steady(order []int, data []float64) Steady {
	rule, trend := stats.Steady(data), stats.MannKendall(data)
	s := Steady{
		Reached: rule.Reached, Blocks: len(data), Needed: stats.SteadyWindow, Excursion: rule.Excursion, Slope: rule.Slope,
		Trend: "none", TrendP: trend.P, Rise: trend.Rise,
	}
	switch {
	case trend.P >= trendAlpha:
	case trend.Rise > 0:
		s.Trend = "rising"
	case trend.Rise < 0:
		s.Trend = "falling"
	}
	if len(data) >= stats.SteadyWindow {
		window := order[rule.First : rule.First+stats.SteadyWindow]
		s.First, s.Last = window[0], window[len(window)-1]
	}
	return s
}

// warnings are the reasons to doubt a variant's figures.
func (d *variantData) warnings(v *VariantResult) []Warning {
	var ws []Warning
	warn := func(w Warning) { ws = append(ws, w) }
	if d.failed > 0 {
		warn(Warning{Code: WarnFailed, N: int64(d.failed), Of: int64(d.failed + d.timed), Text: firstLine(d.firstError)})
	}
	switch need := stats.MinSamples(0.5, confidence); {
	case d.timed == 0 && v.Unsupported: // its error says all
	case d.timed == 0:
		warn(Warning{Code: WarnNotTimed})
	case d.timed < need:
		warn(Warning{Code: WarnFewBlocks, N: int64(d.timed), Of: int64(need)})
	}
	if len(v.Outliers) > 0 {
		warn(Warning{Code: WarnOutliers, Rounds: v.Outliers})
	}
	if d.timed >= stats.SteadyWindow && !v.Steady.Reached {
		warn(Warning{Code: WarnUnsteady})
	}
	if v.Steady.Trend != "none" {
		warn(Warning{Code: WarnTrend})
	}
	if v.Batch > 1 {
		warn(Warning{Code: WarnBatched, N: v.Batch})
	}
	if n := d.unsynced(v.Promise); n > 0 {
		warn(Warning{Code: WarnNoSync, N: n})
	}
	if n := d.latency.OutOfRange(); n > 0 {
		warn(Warning{Code: WarnOutOfRange, N: n})
	}
	return ws
}

// firstLine leaves out the stack of a panic.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
