package stats

import (
	"cmp"
	"slices"
)

// Holm returns the p-values corrected for there being several of them, in the
// order given: rejecting those below alpha is wrong about even one true
// hypothesis with probability alpha at most, however the tests depend on each
// other (Holm, "A Simple Sequentially Rejective Multiple Test Procedure",
// 1979).
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]float64, len(p))
	least := 0.0
	for k, i := range order {
		// Never less than the one before it: a hypothesis is only rejected
		// when all with smaller p-values are.
		least = max(least, min(float64(len(p)-k)*p[i], 1))
		out[i] = least
	}
	return out
}
