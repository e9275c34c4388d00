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
const permutations = 10_000

// ChangePoints returns the places where the level of a series changes, in order. A
// series without a change has one with a probability of at most alpha.
//
// It looks for the stretch whose ranks differ most from those of the rest, scaled by the
// standard deviation of their difference. A stretch to the end of the series is a step,
// another one a rise and a fall. Whether that is a change is tested by shuffling the
// series, which assumes nothing about the distribution, and that without a change the
// samples are exchangeable. The pieces are searched in the same way (circular binary
// segmentation; Olshen and others, Biostatistics 5(4), 2004, here with ranks, which keep
// one wild sample from being a change), and an end of a stretch at which the pieces on
// both sides do not differ is left out, as there. A change has at least four samples on
// each side.
func ChangePoints(x []float64, alpha float64, rng *rand.Rand) []ChangePoint {
	var found []ChangePoint
	var search func(from, to int)
	search = func(from, to int) {
		i, j, p := stretchTest(x[from:to], alpha, rng)
		if p > alpha {
			return
		}
		ends := []int{from, from + i, from + j, to}
		for k := range 3 {
			if k > 0 && ends[k] > from && ends[k] < to {
				found = append(found, ChangePoint{At: ends[k], P: p})
			}
			if ends[k+1]-ends[k] < to-from {
				search(ends[k], ends[k+1])
			}
		}
	}
	search(0, len(x))
	return settle(x, found)
}

// settle leaves out the least clear of the points as long as the pieces on both sides of
// one do not differ, and places each where the pieces differ most.
func settle(x []float64, points []ChangePoint) []ChangePoint {
	neighbours := func(k int) (from, to int) {
		to = len(x)
		if k > 0 {
			from = points[k-1].At
		}
		if k+1 < len(points) {
			to = points[k+1].At
		}
		return from, to
	}
	for {
		worst, least := -1, 0.05
		for k, c := range points {
			from, to := neighbours(k)
			if p := MannWhitney(x[from:c.At], x[c.At:to]); p > least {
				worst, least = k, p
			}
		}
		if worst < 0 {
			break
		}
		points = slices.Delete(points, worst, worst+1)
	}
	for k := range points {
		from, to := neighbours(k)
		ranks, clear := midranks(x[from:to]), 0.0
		sum := 0.0
		for n := 1; n <= len(ranks)-minSegment; n++ {
			sum += ranks[n-1] - float64(len(ranks)+1)/2
			if c := math.Abs(sum) / math.Sqrt(float64(n*(len(ranks)-n))); n >= minSegment && c > clear {
				points[k].At, clear = from+n, c
			}
		}
	}
	return points
}

// stretchTest returns the stretch of x, from i to before j, that differs most from the
// rest, and the p-value of that. It stops shuffling where the p-value is sure to be far
// above alpha (Besag and Clifford, Biometrika 78(2), 1991).
func stretchTest(x []float64, alpha float64, rng *rand.Rand) (i, j int, p float64) {
	if len(x) < 2*minSegment {
		return 0, 0, 1
	}
	ranks, sums := midranks(x), make([]float64, len(x)+1)
	i, j, clear := clearest(ranks, sums)
	const enough = 20 // as clear stretches of shuffled series
	as := 0
	for n := 1; n <= permutations; n++ {
		rng.Shuffle(len(ranks), func(a, b int) { ranks[a], ranks[b] = ranks[b], ranks[a] })
		if _, _, c := clearest(ranks, sums); c >= clear-1e-9 {
			if as++; as == enough && float64(as)/float64(n) > 2*alpha {
				return i, j, float64(as) / float64(n)
			}
		}
	}
	return i, j, float64(as+1) / (permutations + 1)
}

// clearest returns the stretch whose ranks differ most from the others, and by how many
// standard deviations. It uses sums.
func clearest(ranks, sums []float64) (i, j int, clear float64) {
	n := len(ranks)
	mean := float64(n+1) / 2
	for k, r := range ranks {
		sums[k+1] = sums[k] + r - mean
	}
	for from := 0; from <= n-minSegment; from++ {
		if from > 0 && from < minSegment {
			continue
		}
		for to := from + minSegment; to <= n; to++ {
			m := to - from
			if to < n && to > n-minSegment || n-m < minSegment {
				continue
			}
			d := sums[to] - sums[from]
			if c := d * d / float64(m*(n-m)); c > clear {
				i, j, clear = from, to, c
			}
		}
	}
	return i, j, clear
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
