// Package stats has the statistics behind the lab's verdicts, as pure functions over
// samples.
//
// The median's order-statistic interval, Mann-Whitney's U, Welch's t and Student's
// distribution are those of go-moremath, as golang.org/x/perf/benchmath uses them.
// The rest is here, each with the paper it follows. Nothing in this package
// assumes that timings are normally distributed, except Welch's t, which a user
// must ask for.
//
// Samples must be finite numbers. No function changes its arguments, and all
// of them are deterministic: those that resample take a random source.
//
// # Mistakes to avoid
//
//   - Pairing samples that were not measured together. RatioPaired cancels conditions
//     that both of a pair share; samples without pairs need RatioOfRuns.
//   - Reading an interval that is not there: Lo and Hi are NaN where there are too few
//     samples, and every comparison with NaN is false.
//   - Taking p = 1 for evidence that nothing differs. It also stands for a test that
//     could not be made.
//   - Testing many pairs at 5 % each. Holm corrects for their number.
package stats

import (
	"errors"
	"fmt"
	"math"

	dist "github.com/aclements/go-moremath/stats"
)

// An Estimate is a point estimate with its two-sided confidence interval.
type Estimate struct {
	Value float64
	// Lo and Hi bound the interval; both are NaN where there are too few
	// samples for one.
	Lo, Hi float64
	// Confidence of the interval; 0 without an interval. Order statistics have
	// intervals for certain confidences only, and take the next above the one
	// asked for.
	Confidence float64
	// N is the number of samples, or of pairs.
	N int
	// Warning says why there is no interval; nil if there is one.
	Warning error
}

// ErrNoSamples is the Warning of an Estimate made from no samples.
var ErrNoSamples = errors.New("stats: no samples")

// noInterval is an estimate of which only the value is known.
func noInterval(value float64, n int, why error) Estimate {
	return Estimate{Value: value, Lo: math.NaN(), Hi: math.NaN(), N: n, Warning: why}
}

// MinSamples returns the smallest number of samples whose least and greatest value
// bound the quantile q (0 to 1) with the given confidence, whatever the
// distribution: the smallest n with 1 - q^n - (1-q)^n >= confidence. The
// quantile lies below all n samples with probability (1-q)^n and above all of
// them with q^n; see David & Nagaraja, Order Statistics, 3rd ed., section 7.1.
func MinSamples(q, confidence float64) int {
	if q <= 0 || q >= 1 || confidence >= 1 {
		return math.MaxInt
	}
	ok := func(n int) bool {
		// 1e-12: 1-0.95 is not 0.05 in binary, and no count may hang on that.
		return math.Pow(q, float64(n))+math.Pow(1-q, float64(n)) <= 1-confidence+1e-12
	}
	hi := 2
	for !ok(hi) {
		if hi > math.MaxInt/4 {
			return math.MaxInt
		}
		hi *= 2
	}
	lo := 1 // not enough: q^1 + (1-q)^1 is 1
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; ok(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// A FewError says that there are too few samples for the interval of a
// percentile.
type FewError struct {
	p    float64 // 0 to 100
	Have int64
	Need int
}

func (e *FewError) Error() string {
	return fmt.Sprintf("p%g needs at least %d samples for its interval, have %d", e.p, e.Need, e.Have)
}

// CheckPercentile returns nil when n samples are enough for an interval of
// the percentile p (0 to 100) that lies within the sample, and otherwise a
// *FewError.
func CheckPercentile(p float64, n int64, confidence float64) error {
	if need := MinSamples(p/100, confidence); n < int64(need) {
		return &FewError{p: p, Have: n, Need: need}
	}
	return nil
}

// Median returns the median with its order-statistic interval, which holds
// for any distribution.
func Median(x []float64, confidence float64) Estimate {
	if len(x) == 0 {
		return noInterval(math.NaN(), 0, ErrNoSamples)
	}
	interval := dist.QuantileCI(len(x), 0.5, confidence)
	median, lo, hi := interval.SampleCI(dist.Sample{Xs: x})
	// A bound outside the sample is infinite.
	if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return noInterval(median, len(x), tooFew(len(x), 0.5, confidence, "samples"))
	}
	return Estimate{Value: median, Lo: lo, Hi: hi, Confidence: interval.Confidence, N: len(x)}
}

func tooFew(n int, q, confidence float64, what string) error {
	return fmt.Errorf("an interval at %g %% needs at least %d %s, have %d", confidence*100, MinSamples(q, confidence), what, n)
}

// Welch returns the two-sided p-value of Welch's t-test of equal means. It is
// 1, which shows nothing, where the test cannot be made: fewer than two
// samples, or no variance at all.
func Welch(a, b []float64) float64 {
	// Sorted, so that rounding does not depend on the order of the samples.
	t, err := dist.TwoSampleWelchTTest(dist.Sample{Xs: a}.Copy().Sort(), dist.Sample{Xs: b}.Copy().Sort(), dist.LocationDiffers)
	if err != nil {
		return 1
	}
	return probability(t.P)
}

// MannWhitney returns the two-sided p-value of the Mann-Whitney U-test. It is
// 1, which shows nothing, where the test cannot be made: no samples on one
// side, or all of them equal.
func MannWhitney(a, b []float64) float64 {
	u, err := dist.MannWhitneyUTest(a, b, dist.LocationDiffers)
	if err != nil {
		return 1
	}
	return probability(u.P)
}

// probability returns p, at most 1, and 1 if p is not a number.
func probability(p float64) float64 {
	if math.IsNaN(p) {
		return 1
	}
	return min(p, 1)
}
