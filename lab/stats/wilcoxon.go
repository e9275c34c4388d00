package stats

import (
	"cmp"
	"math"
	"slices"
)

// exactSignedRank is the largest number of differences for which the exact
// distribution is taken: 2^50 sign patterns are counted without rounding in
// the 53 bits of a float64.
const exactSignedRank = 50

// SignedRank returns the two-sided p-value of Wilcoxon's signed-rank test
// that the paired differences d are symmetric about 0 (Wilcoxon, "Individual
// Comparisons by Ranking Methods", 1945).
//
// Equal magnitudes share their mean rank. Zeros are ranked with the others
// and their ranks then left out (Pratt, "Remarks on Zeros and Ties in the
// Wilcoxon Signed Rank Procedures", 1959): dropping them beforehand, as
// Wilcoxon did, can make a difference more significant by adding a pair that
// shows none.
//
// Up to 50 differences the p-value is exact, given the ranks that occur, ties
// and zeros included. Above, it is the normal approximation with the variance
// of those same ranks and a continuity correction of 1/2. It is 1, which shows
// nothing, where all differences are 0.
func SignedRank(d []float64) float64 {
	ranks := doubledRanks(d)
	var total, plus int // of the doubled ranks
	var used []int
	for i, x := range d {
		if x == 0 {
			continue
		}
		used = append(used, ranks[i])
		total += ranks[i]
		if x > 0 {
			plus += ranks[i]
		}
	}
	if len(used) == 0 {
		return 1
	}
	low := min(plus, total-plus) // the distribution is symmetric
	if len(d) <= exactSignedRank {
		return exactTail(used, total, low)
	}
	return normalTail(used, total, low)
}

// exactTail returns the two-sided probability that the ranks of random signs
// sum to low or less: it counts the sign patterns by their sum, a rank at a
// time.
func exactTail(ranks []int, total, low int) float64 {
	ways := make([]float64, total+1)
	ways[0] = 1
	top := 0
	for _, r := range ranks {
		top += r
		for s := top; s >= r; s-- {
			ways[s] += ways[s-r]
		}
	}
	var tail float64
	for s := 0; s <= low; s++ {
		tail += ways[s]
	}
	return min(2*tail/math.Exp2(float64(len(ranks))), 1)
}

// normalTail approximates exactTail by the normal distribution of the same
// variance, with a continuity correction of half a rank: 1 on the doubled
// scale.
func normalTail(ranks []int, total, low int) float64 {
	var variance float64
	for _, r := range ranks {
		variance += float64(r) * float64(r) / 4
	}
	return 2 * normalCDF(min(float64(low)+1-float64(total)/2, 0)/math.Sqrt(variance))
}

// doubledRanks returns twice the rank of each magnitude, from 2 on: mean
// ranks of ties are whole numbers then.
func doubledRanks(d []float64) []int {
	order := make([]int, len(d))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(d[a]), math.Abs(d[b])) })
	ranks := make([]int, len(d))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && math.Abs(d[order[j]]) == math.Abs(d[order[i]]) {
			j++
		}
		for k := i; k < j; k++ {
			ranks[order[k]] = i + 1 + j // first rank plus last
		}
		i = j
	}
	return ranks
}
