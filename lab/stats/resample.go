package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A Statistic is a figure made from the samples of one run, which can be made again
// from a resample of them.
type Statistic struct {
	// N is the number of samples.
	N int
	// Of returns the figure of the samples of which the i-th occurs count[i] times,
	// N in all. It must not keep or change count.
	Of func(count []int) float64
}

// MedianOf returns the median of x as a Statistic.
func MedianOf(x []float64) Statistic {
	x = slices.Sorted(slices.Values(x))
	return Statistic{N: len(x), Of: func(count []int) float64 { return weightedMedian(x, count) }}
}

// Bootstrap estimates a figure of one run with its expanded percentile interval; see
// RatioPaired, which is this for a median of logarithms.
func Bootstrap(s Statistic, confidence float64, rng *rand.Rand, resamples int) Estimate {
	if s.N == 0 {
		return noInterval(math.NaN(), 0, ErrNoSamples)
	}
	value := s.Of(once(s.N))
	if s.N < MinSamples(0.5, confidence) {
		return noInterval(value, s.N, tooFew(s.N, 0.5, confidence, "samples"))
	}
	lo, hi := percentiles(s.resamples(rng, resamples), expandedTail(confidence, s.N))
	return Estimate{Value: value, Lo: lo, Hi: hi, Confidence: confidence, N: s.N}
}

func (s Statistic) resamples(rng *rand.Rand, n int) []float64 {
	count := once(s.N)
	reps := make([]float64, n)
	for r := range reps {
		draw(count, rng)
		reps[r] = s.Of(count)
	}
	return reps
}

// RatioOfRuns estimates how many times as large a figure is in the runs of test as in
// those of base, which nothing pairs. Figures may be 0: 0 to 0 counts as 1, anything else
// to 0 as +Inf.
//
// With one run on each side the interval is a percentile bootstrap that resamples each
// side by itself, and N the number of samples of the smaller one: what changed between
// the two runs is not in it. The percentiles are the plain ones: a difference of two
// medians is smooth enough that they cover 95 to 97 % where 95 % is asked for, from 6 to
// 21 samples with outliers. With several
// runs on a side the runs are the samples, N the number on the smaller side. The
// estimate is the ratio of the geometric means of their figures, and the interval is
// Student's with the variance between runs pooled over both sides, so that whatever
// differs from run to run is in it, with as many degrees of freedom as there are runs
// less two. Two runs on each side make a wide interval, three or more a useful one.
func RatioOfRuns(test, base []Statistic, confidence float64, rng *rand.Rand, resamples int) Estimate {
	least := math.MaxInt
	for _, s := range slices.Concat(test, base) {
		least = min(least, s.N)
	}
	switch {
	case len(test) == 0 || len(base) == 0 || least == 0:
		return noInterval(math.NaN(), 0, ErrNoSamples)
	case len(test)+len(base) > 2:
		return ratioOfSeveral(figuresOf(test), figuresOf(base), confidence, rng, resamples)
	}
	x, y := test[0], base[0]
	value := quotient(x.Of(once(x.N)), y.Of(once(y.N)))
	if least < MinSamples(0.5, confidence) {
		return noInterval(value, least, tooFew(least, 0.5, confidence, "samples on each side"))
	}
	reps, other := x.resamples(rng, resamples), y.resamples(rng, resamples)
	for i := range reps {
		reps[i] = quotient(reps[i], other[i])
	}
	lo, hi := percentiles(reps, (1-confidence)/2)
	return Estimate{Value: value, Lo: lo, Hi: hi, Confidence: confidence, N: least}
}

func figuresOf(runs []Statistic) []float64 {
	x := make([]float64, len(runs))
	for i, s := range runs {
		x[i] = s.Of(once(s.N))
	}
	return x
}

// ratioOfSeveral is RatioOfRuns over the figures of the runs.
func ratioOfSeveral(test, base []float64, confidence float64, rng *rand.Rand, resamples int) Estimate {
	n := min(len(test), len(base))
	if slices.ContainsFunc(slices.Concat(test, base), func(f float64) bool { return !(f > 0) || math.IsInf(f, 1) }) {
		// Zeros have no logarithm: the runs are resampled instead.
		e := RatioOfRuns([]Statistic{MedianOf(test)}, []Statistic{MedianOf(base)}, confidence, rng, resamples)
		if slices.Min(test) == slices.Max(test) && slices.Min(base) == slices.Max(base) {
			e = Estimate{Value: e.Value, Lo: e.Value, Hi: e.Value, Confidence: confidence, N: n}
		}
		return e
	}
	meanTest, squaresTest := logMoments(test)
	meanBase, squaresBase := logMoments(base)
	free := len(test) + len(base) - 2
	variance := (squaresTest + squaresBase) / float64(free) * (1/float64(len(test)) + 1/float64(len(base)))
	half := StudentQuantile((1+confidence)/2, free) * math.Sqrt(variance)
	d := meanTest - meanBase
	return Estimate{Value: math.Exp(d), Lo: math.Exp(d - half), Hi: math.Exp(d + half), Confidence: confidence, N: n}
}

// logMoments returns the mean of the logarithms of x and the sum of the squares of
// their distances from it.
func logMoments(x []float64) (mean, squares float64) {
	for _, f := range x {
		mean += math.Log(f) / float64(len(x))
	}
	for _, f := range x {
		squares += (math.Log(f) - mean) * (math.Log(f) - mean)
	}
	return mean, squares
}
