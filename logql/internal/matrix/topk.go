package matrix

import (
	"slices"

	"github.com/stele-go/stele/logql/syntax"
)

// extremes keeps, in each group and at each step, the K series with the greatest values,
// or the least. Of equal values the series that comes first by its labels is kept.
func (e *evaluator) extremes(x *syntax.VectorAggregation, inner Result) Result {
	descending := x.Op != syntax.BottomK
	names, not := grouping(x.Grouping)
	var out []Series
	for _, group := range groups(inner.Series, names, not) {
		slices.SortFunc(group, func(a, b Series) int { return CompareLabels(a.Labels, b.Labels) })
		kept := make([]Series, len(group))
		for i, s := range group {
			kept[i] = Series{Labels: s.Labels, Values: s.Values, Has: make([]uint64, len(s.Has))}
		}
		best := make([]int, 0, min(max(x.K, 0), len(group)))
		for step := range e.n {
			best = firstK(best[:0], group, step, x.K, descending)
			for _, i := range best {
				kept[i].Has[step>>6] |= 1 << (step & 63)
			}
		}
		if e.n == 1 { // in the order of values
			for _, i := range best {
				out = append(out, kept[i])
			}
			continue
		}
		for _, s := range kept {
			if !s.Empty() {
				out = append(out, s)
			}
		}
	}
	return Result{Series: out, Sorted: e.n == 1}
}

// firstK appends the indexes of the k series that are first by their values at a step.
func firstK(best []int, group []Series, step, k int, descending bool) []int {
	if k <= 0 {
		return best
	}
	before := func(i, j int) bool { // i comes before j
		c := compareValues(group[i].Values[step], group[j].Values[step], descending)
		return c < 0 || c == 0 && i < j
	}
	for i := range group {
		if !group[i].HasValue(step) {
			continue
		}
		if len(best) == k && !before(i, best[k-1]) {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, i, func(j, i int) int {
			if before(j, i) {
				return -1
			}
			return 1
		})
		if len(best) == k {
			best = best[:k-1]
		}
		best = slices.Insert(best, at, i)
	}
	return best
}
