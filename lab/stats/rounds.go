package stats

import "math"

// RoundsNeeded returns how many rounds would probably settle whether a ratio lies
// between least and most or outside: the number with which its whole interval is
// expected to lie on one side of each bound, in four measurements of five. A bound
// of 0 or +Inf is no bound.
//
// e is the estimate from the rounds so far. Its value is taken for the true ratio,
// and its interval is taken to shrink with the square root of the rounds. For a
// plan, set the value and both ends for the difference to be found: e divided by
// e.Value, for example, asks what it takes to show that nothing has changed. For
// samples of two runs the number is that of each run.
//
// An estimate without an interval says nothing about the noise: RoundsNeeded
// returns the least number that has an interval, MinSamples. It never returns
// less than that, and returns math.MaxInt where the value is so near a bound that
// no number settles it.
func RoundsNeeded(e Estimate, least, most float64) int {
	const confidence = 0.95
	fewest := MinSamples(0.5, confidence)
	if !(e.Value > 0) || !(e.Lo > 0) || math.IsInf(e.Value, 1) || math.IsInf(e.Hi, 1) || !(e.Lo <= e.Hi) {
		return fewest
	}
	// Half of the interval at 95 % is 1.96 standard errors, and the estimate itself
	// is one standard error off: it falls on the near side of the bound by more than
	// half an interval in four measurements of five where the distance is
	// 1.96 + 0.84 standard errors.
	const spare = (1.959964 + 0.841621) / 1.959964
	half := math.Log(e.Hi/e.Lo) / 2
	distance := math.Inf(1)
	for _, bound := range []float64{least, most} {
		if bound > 0 && !math.IsInf(bound, 1) {
			distance = min(distance, math.Abs(math.Log(e.Value/bound)))
		}
	}
	rounds := math.Ceil(float64(e.N) * math.Pow(spare*half/distance, 2))
	if half == 0 {
		rounds = 0 // without noise any interval will do
	}
	if !(rounds < math.MaxInt32) {
		return math.MaxInt
	}
	return max(int(rounds), fewest)
}
