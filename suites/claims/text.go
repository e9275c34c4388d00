package claims

import (
	"fmt"
	"math"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// factor writes "1.32x [1.28, 1.37]". A ratio to nothing has no upper limit: "at least
// 17.00x".
func factor(e run.Estimate) string {
	switch {
	case math.IsInf(e.Median, 1) && math.IsInf(e.Lo, 1):
		return "some against none"
	case math.IsInf(e.Median, 1) && !math.IsNaN(e.Lo):
		return "at least " + times(e.Lo)
	}
	verb := ratioVerb(e.Median)
	return times(e.Median) + " " + interval(e, verb)
}

// times writes a ratio: "1.90x".
func times(k float64) string { return fmt.Sprintf(ratioVerb(k), k) + "x" }

// ratioVerb is "%.2f", with more places for a small ratio and none for a large one: two
// digits say something.
func ratioVerb(k float64) string {
	switch {
	case k >= 1000 && !math.IsInf(k, 1):
		return "%.0f"
	case k > 0 && k < 0.1:
		return fmt.Sprintf("%%.%df", 1-int(math.Floor(math.Log10(k))))
	}
	return "%.2f"
}

func interval(e run.Estimate, verb string) string {
	if math.IsNaN(e.Lo) || math.IsNaN(e.Hi) {
		return "[no interval]"
	}
	return fmt.Sprintf("["+verb+", "+verb+"]", e.Lo, e.Hi)
}

// nanos writes the time of an operation.
func nanos(e run.Estimate) string {
	if e.Median >= 10_000 {
		return fmt.Sprintf("%.1f us", e.Median/1000)
	}
	return fmt.Sprintf("%.0f ns", e.Median)
}

// lasting writes a time that may be many milliseconds.
func lasting(e run.Estimate) string {
	if e.Median >= 1e6 {
		return fmt.Sprintf("%.1f ms", e.Median/1e6)
	}
	return nanos(e)
}

// shareText writes "0.3 % [0.1, 0.9]".
func shareText(e run.Estimate) string {
	e = scaled(e, 100)
	return fmt.Sprintf("%.1f %% %s", e.Median, interval(e, "%.1f"))
}

// micros writes a time of nanoseconds in microseconds with its interval.
func micros(e run.Estimate) string {
	e = scaled(e, 1./1000)
	return fmt.Sprintf("%.1f us %s", e.Median, interval(e, "%.1f"))
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// megabytes writes the rate of operations of so many bytes, in MB a second.
func megabytes(bytes float64, perOp run.Estimate) string {
	return fmt.Sprintf("%.0f MB/s", bytes/perOp.Median*1e3)
}

// lastingIn is lasting with the interval.
func lastingIn(e run.Estimate) string {
	if e.Lo == e.Hi && e.Lo == e.Median { // a limit
		return lasting(e)
	}
	if e.Median >= 1e6 {
		return fmt.Sprintf("%.1f ms %s", e.Median/1e6, interval(scaled(e, 1e-6), "%.1f"))
	}
	return micros(e)
}

// eitherText returns the text of a figure that is 1 or 0, or "NaN" if it is missing.
func eitherText(e run.Estimate, one, zero string) string {
	switch {
	case math.IsNaN(e.Median):
		return "NaN"
	case e.Median == 1:
		return one
	}
	return zero
}
