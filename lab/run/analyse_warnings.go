package run

import (
	"fmt"
	"math"
	"strings"

	"github.com/stele-go/stele/lab/stats"
)

// steady applies the steady-state rule and the test for a trend to the data
// of a variant; order holds their rounds.
func steady(order []int, data []float64) Steady {
	rule, trend := stats.Steady(data), stats.MannKendall(data)
	s := Steady{
		Reached: rule.Reached, Excursion: rule.Excursion, Slope: rule.Slope,
		Trend: "none", TrendP: trend.P,
	}
	switch {
	case trend.P >= trendAlpha:
	case trend.Rise > 0:
		s.Trend = "rising"
	case trend.Rise < 0:
		s.Trend = "falling"
	}
	switch {
	case len(data) < stats.SteadyWindow:
		s.Reason = fmt.Sprintf("the rule needs %d blocks, have %d", stats.SteadyWindow, len(data))
	case !rule.Reached:
		last := order[rule.First:]
		s.Reason = fmt.Sprintf("no %d rounds in a row meet SNIA's rule; in rounds %d to %d the times lie %s apart (at most 20 %%) and their line moves by %s (at most 10 %%)",
			stats.SteadyWindow, last[0], last[len(last)-1], percent(rule.Excursion), percent(math.Abs(rule.Slope)))
	}
	return s
}

// warnings tell a person what to think of when reading a variant's figures.
func (d *variantData) warnings(v *VariantResult, data []float64, tooFew error) []string {
	var w []string
	warn := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	if d.failed > 0 {
		warn("%d of %d blocks failed, the first with: %s", d.failed, d.failed+d.timed, firstLine(d.firstError))
	}
	switch {
	case d.timed == 0 && v.Unsupported: // its error says all
	case d.timed == 0:
		warn("no block was timed")
	case tooFew != nil:
		warn("too few blocks: %v", tooFew)
	}
	if len(v.Outliers) > 0 {
		warn("outliers in %s; they stay in every figure", roundList(v.Outliers))
	}
	if d.timed >= stats.SteadyWindow && !v.Steady.Reached {
		warn("not steady by SNIA's rule: the last %d rounds lie %s apart, their line moves by %s",
			stats.SteadyWindow, percent(v.Steady.Excursion), percent(math.Abs(v.Steady.Slope)))
	}
	if v.Steady.Trend != "none" {
		warn("%s: by %s from the first block to the last (Mann-Kendall p = %.2g)",
			v.Steady.Trend, percent(math.Abs(stats.MannKendall(data).Rise)), v.Steady.TrendP)
	}
	if v.Batch > 1 {
		warn("operations under 1 us: timed %d at a time, percentiles are of the mean of %d", v.Batch, v.Batch)
	}
	if n := d.latency.OutOfRange(); n > 0 {
		warn("latencies out of range, in no percentile: %d (below 1 ns or above 1 h)", n)
	}
	return w
}

// firstLine leaves out the stack of a panic.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func roundList(rounds []int) string {
	var b strings.Builder
	b.WriteString("round")
	if len(rounds) > 1 {
		b.WriteString("s")
	}
	for i, round := range rounds {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %d", round)
	}
	return b.String()
}

// percent writes a share with two digits: "5 %", "0.12 %".
func percent(share float64) string {
	p := share * 100
	if p >= 10 {
		return fmt.Sprintf("%.0f %%", p)
	}
	return fmt.Sprintf("%.2g %%", p)
}
