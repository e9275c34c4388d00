package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A ChangePoint is a place in a series after which its level differs.
type ChangePoint struct {
	At int     // the first sample after the change
	P  float64 // the probability of so clear a change in a series without any
}

// minSegment is the least number of samples on each side of a change: fewer say too
// little about a level.
const minSegment = 4

// permutations bounds the shuffles of one test.
const permutations = 20_000

// ChangePoints returns the places where the level of a series changes, in order. A
// series without a change has one with a probability of at most alpha.
//
// The place is where the sums of the ranks before and after differ most from those of
// equal levels, each scaled by its standard deviation (the CUSUM of Mann-Whitney's
// statistic; Pettitt, Applied Statistics 28(2), 1979). Whether that is a change is tested
// by shuffling the series, which assumes nothing about the distribution, and that
// without a change the samples are exchangeable. The pieces before and after are
// searched in the same way (binary segmentation). Ranks keep one wild sample from being
// a change. Series of fewer than 8 samples have none, and with alpha 0.05 a series of 8
// shows a change only in its middle.
func ChangePoints(x []float64, alpha float64, rng *rand.Rand) []ChangePoint {
	var found []ChangePoint
	var search func(from, to int)
	search = func(from, to int) {
		at, p := splitTest(x[from:to], alpha, rng)
		if p > alpha {
			return
		}
		search(from, from+at)
		found = append(found, ChangePoint{At: from + at, P: p})
		search(from+at, to)
	}
	search(0, len(x))
	// A split of a piece with two changes lies beside one of them: place each again,
	// between its neighbours.
	for i := range found {
		from, to := 0, len(x)
		if i > 0 {
			from = found[i-1].At
		}
		if i+1 < len(found) {
			to = found[i+1].At
		}
		if to-from >= 2*minSegment {
			at, _ := bestSplit(midranks(x[from:to]))
			found[i].At = from + at
		}
	}
	return found
}

// splitTest returns where a series is split best, and the p-value of that split. It
// stops shuffling where the p-value is sure to be far above alpha (Besag and Clifford,
// Biometrika 78(2), 1991).
func splitTest(x []float64, alpha float64, rng *rand.Rand) (at int, p float64) {
	if len(x) < 2*minSegment {
		return 0, 1
	}
	ranks := midranks(x)
	at, clear := bestSplit(ranks)
	const enough = 20 // as clear splits of shuffled series
	as := 0
	for n := 1; n <= permutations; n++ {
		rng.Shuffle(len(ranks), func(i, j int) { ranks[i], ranks[j] = ranks[j], ranks[i] })
		if _, c := bestSplit(ranks); c >= clear-1e-9 {
			if as++; as == enough && float64(as)/float64(n) > 2*alpha {
				return at, float64(as) / float64(n)
			}
		}
	}
	return at, float64(as+1) / (permutations + 1)
}

// bestSplit returns the split at which the ranks before and after differ most, in
// standard deviations.
func bestSplit(ranks []float64) (at int, clear float64) {
	n := len(ranks)
	mean := float64(n+1) / 2
	sum := 0.0
	for i, r := range ranks[:n-minSegment] {
		sum += r - mean
		if k := i + 1; k >= minSegment {
			if c := math.Abs(sum) / math.Sqrt(float64(k)*float64(n-k)); c > clear {
				at, clear = k, c
			}
		}
	}
	return at, clear
}

// midranks returns the ranks of x from 1, and their mean for equal samples.
func midranks(x []float64) []float64 {
	sorted := slices.Sorted(slices.Values(x))
	ranks := make([]float64, len(x))
	for i, v := range x {
		lo, _ := slices.BinarySearch(sorted, v)
		hi := lo
		for hi < len(sorted) && sorted[hi] == v {
			hi++
		}
		ranks[i] = float64(lo+1+hi) / 2
	}
	return ranks
}
