package stats

import (
	"math"
	"slices"
)

// firstLook is the number of pairs at the first look: the fewest that have an interval
// at 95 %.
const firstLook = 6

// NextLook returns the number of pairs at which to look next after n pairs: 6, 8, 11,
// 15, 20, 27 and so on, each a third more than the one before. Looks at every pair
// would cost more confidence than they save time.
func NextLook(n int) int {
	look := firstLook
	for look <= n {
		look = (4*look + 2) / 3
	}
	return look
}

// Looking at data while they grow, and ending as soon as they are clear, finds
// differences that are not there, unless each look has a share of the error of its own.
// The shares here are of Bonferroni's kind, fixed beforehand: whichever look ends the
// measurement, its interval misses the truth with at most the error of all looks
// together, however the looks depend on each other (Jennison & Turnbull, Group
// Sequential Methods, 2000, chapter 9, on repeated confidence intervals).
//
// All looks before the last one have 40 % of the error, the first a quarter of that,
// and each later one a quarter of what is left. The last one, for which nothing
// but the number of pairs or the time decides, has the rest.
const (
	earlyError = 0.4
	lookError  = 0.25
)

// LookConfidence returns the confidence of the interval at look k, from 1, that may
// end a measurement whose intervals are to cover confidence, whichever look ends it.
func LookConfidence(confidence float64, k int) float64 {
	return 1 - (1-confidence)*earlyError*lookError*math.Pow(1-lookError, float64(k-1))
}

// LastConfidence returns the confidence of the interval of a measurement that ended for
// another reason than its data, after that many looks at which it went on.
func LastConfidence(confidence float64, looks int) float64 {
	return 1 - (1-confidence)*(1-earlyError*(1-math.Pow(1-lookError, float64(looks))))
}

// RatioLook is RatioPaired with an interval for a look before the last one: at a high
// confidence, from few pairs. It is the interval of the median by order statistics,
// which assumes nothing about the distribution; a bootstrap would need a million
// resamples for its tails. Where there are too few pairs for that confidence it is
// the range of the pairs, widened to Student's interval where that is wider.
func RatioLook(test, base []float64, confidence float64) Estimate {
	if len(test) != len(base) {
		panic("stats: RatioLook needs pairs")
	}
	n := len(test)
	if n == 0 {
		return noInterval(math.NaN(), 0, ErrNoSamples)
	}
	d := logRatios(test, base)
	slices.Sort(d)
	value := math.Exp(weightedMedian(d, once(n)))
	if n < firstLook {
		return noInterval(value, n, tooFew(n, 0.5, confidence, "pairs"))
	}
	if n >= MinSamples(0.5, confidence) {
		e := Median(d, confidence)
		return Estimate{Value: value, Lo: math.Exp(e.Lo), Hi: math.Exp(e.Hi), Confidence: e.Confidence, N: n}
	}
	rough := RatioRough(test, base, confidence)
	lo, hi := min(rough.Lo, math.Exp(d[0])), max(rough.Hi, math.Exp(d[n-1]))
	return Estimate{Value: value, Lo: lo, Hi: hi, Confidence: confidence, N: n}
}
