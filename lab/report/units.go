package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// digits writes x with three significant digits and no exponent.
func digits(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "n/a"
	}
	if x == 0 {
		return "0"
	}
	return strconv.FormatFloat(round3(x), 'f', decimals(round3(x), 3), 64)
}

// count is digits for a number of things: a whole number keeps all its
// digits, grouped in threes.
func count(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	if math.Abs(x) < 1000 || math.IsNaN(x) || math.IsInf(x, 0) {
		return digits(x)
	}
	s := strconv.FormatFloat(math.Abs(x), 'f', 0, 64)
	var b strings.Builder
	if x < 0 {
		b.WriteByte('-')
	}
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// round3 rounds to three significant digits, so that the unit is chosen for the
// figure as it is shown: 999.9 ns is 1.00 us.
func round3(x float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	if err != nil {
		return x
	}
	return r
}

// decimals is how many places behind the point show n significant digits.
func decimals(x float64, n int) int {
	if x == 0 {
		return 0
	}
	return min(max(0, n-1-int(math.Floor(math.Log10(math.Abs(x))))), 9)
}

type unit struct {
	size float64
	name string
}

var (
	timeUnits = []unit{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}
	byteUnits = []unit{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}}
)

// unitFor is the largest unit of which x is at least one.
func unitFor(x float64, units []unit) unit {
	for _, u := range units {
		if round3(math.Abs(x)/u.size) >= 1 {
			return u
		}
	}
	return units[len(units)-1]
}

// duration writes nanoseconds as ns, us, ms or s.
func duration(ns float64) string {
	if math.IsNaN(ns) || math.IsInf(ns, 0) {
		return "n/a"
	}
	u := unitFor(ns, timeUnits)
	return digits(ns/u.size) + " " + u.name
}

// size writes bytes in binary units.
func size(bytes float64) string {
	if math.IsNaN(bytes) || math.IsInf(bytes, 0) {
		return "n/a"
	}
	u := unitFor(bytes, byteUnits)
	if u.size == 1 {
		return count(bytes) + " B"
	}
	return digits(bytes/u.size) + " " + u.name
}

// percent writes a share of 1.
func percent(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "n/a"
	}
	p := share * 100
	switch {
	case p == 0:
		return "0 %"
	case math.Abs(p) < 0.01:
		return "<0.01 %"
	case math.Abs(p) < 10:
		return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + " %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

// quantity writes x in the unit of a run.Metric.
func quantity(x float64, unit string) string {
	switch unit {
	case "ns":
		return duration(x)
	case "B":
		return size(x)
	case "B/s":
		return size(x) + "/s"
	case "share":
		return percent(x)
	}
	return count(x)
}

// times writes a ratio: "0.48x".
func times(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "n/a"
	}
	return factor(x) + "x"
}

func factor(x float64) string {
	places := 2
	switch a := math.Abs(x); {
	case a >= 100:
		places = 0
	case a >= 10:
		places = 1
	case a < 0.1:
		places = decimals(x, 2)
	}
	return strconv.FormatFloat(x, 'f', places, 64)
}

// Ratio formats a ratio and its interval: "0.48x [0.46, 0.51]", or "0.48x [?]" for
// an interval of NaN.
func Ratio(e run.Estimate) string {
	if !known(e.Median) {
		return "n/a"
	}
	if !hasInterval(e) {
		return times(e.Median) + " [?]"
	}
	return fmt.Sprintf("%s [%s, %s]", times(e.Median), factor(e.Lo), factor(e.Hi))
}

// Time formats a time in nanoseconds and its interval in one unit:
// "1.23 us [1.20, 1.26]", or "1.23 us [?]" for an interval of NaN.
func Time(e run.Estimate) string {
	if !hasInterval(e) {
		return duration(e.Median) + " [?]"
	}
	u := unitFor(e.Median, timeUnits)
	places := decimals(round3(e.Median/u.size), 3)
	f := func(x float64) string { return strconv.FormatFloat(x/u.size, 'f', places, 64) }
	return fmt.Sprintf("%s [%s, %s]", duration(e.Median), f(e.Lo), f(e.Hi))
}

// plusMinus writes a time and how far it may be off: "1.23 us ±4%".
func plusMinus(e run.Estimate) string { return duration(e.Median) + " " + offBy(e) }

// offBy is the farther end of an interval as a share of the median.
func offBy(e run.Estimate) string {
	if !hasInterval(e) || e.Median == 0 {
		return "±?"
	}
	p := math.Max(e.Hi-e.Median, e.Median-e.Lo) / e.Median
	return "±" + strings.ReplaceAll(percent(p), " ", "")
}

// holmText is the corrected p-value of a comparison, "" where so few rounds and so many
// comparisons cannot bring it below 0.05: it says nothing then.
func holmText(c *run.Comparison) string {
	if c.LeastPHolm != nil && *c.LeastPHolm >= 0.05 {
		return ""
	}
	return pValue(c.PHolm)
}

// pValue writes a probability.
func pValue(p float64) string {
	switch {
	case !known(p):
		return "n/a"
	case p < 0.0001:
		return "<0.0001"
	case p < 0.01:
		return strconv.FormatFloat(p, 'f', 4, 64)
	}
	return strconv.FormatFloat(p, 'f', 2, 64)
}

// wall writes a long duration for people: "2m 31s".
func wall(n run.Nanos) string {
	d := time.Duration(n)
	if d < time.Minute {
		return duration(float64(n))
	}
	d = d.Round(time.Second)
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	if h > 0 {
		return fmt.Sprintf("%d h %d min", h, m)
	}
	return fmt.Sprintf("%d min %d s", m, s)
}

// known tells a figure from the lack of one.
func known(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func hasInterval(e run.Estimate) bool { return known(e.Median) && known(e.Lo) && known(e.Hi) }
