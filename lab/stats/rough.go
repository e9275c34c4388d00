package stats

import (
	"math"

	dist "github.com/aclements/go-moremath/stats"
)

// RatioRough is RatioPaired for two pairs or more, with Student's interval of the
// mean of the logarithms of the pairs' ratios. Use it to plan, and to say how large a
// difference would have been seen, where there are too few pairs for RatioPaired; it
// takes the logarithms to be normally distributed, which no verdict may rest on.
func RatioRough(test, base []float64, confidence float64) Estimate {
	if len(test) != len(base) {
		panic("stats: RatioRough needs pairs")
	}
	n := len(test)
	if n == 0 {
		return noInterval(math.NaN(), 0, ErrNoSamples)
	}
	d := logRatios(test, base)
	mean := dist.Mean(d)
	if n < 2 {
		return noInterval(math.Exp(mean), n, &FewError{p: 50, Have: 1, Need: 2})
	}
	half := StudentQuantile((1+confidence)/2, n-1) * dist.StdDev(d) / math.Sqrt(float64(n))
	return Estimate{Value: math.Exp(mean), Lo: math.Exp(mean - half), Hi: math.Exp(mean + half), Confidence: confidence, N: n}
}
