package matrix

import (
	"slices"

	"github.com/stele-go/stele/logql/syntax"
)

// extremes keeps, in each group and at each step, the K series with the greatest values,
// or the least. Of equal values the series that comes first by its labels is kept.
func (e *evaluator) extremes(x *syntax.VectorAggregation, inner Result) (Result, error) {
	names, not := grouping(x.Grouping)
	all, err := e.groups(inner.Series, names, not)
	if err != nil {
		return Result{}, err
	}
	out := Result{Sorted: e.n == 1}
	for _, group := range all {
		kept, err := e.extremesOf(x, group)
		if err != nil {
			return Result{}, err
		}
		out.Series = append(out.Series, kept...)
	}
	return out, nil
}

// extremesOf is extremes of one group. With one step they are in the order of their values.
func (e *evaluator) extremesOf(x *syntax.VectorAggregation, group []Series) ([]Series, error) {
	if err := e.sort(group, byLabels); err != nil {
		return nil, err
	}
	if err := e.room(e.hasBytes(len(group))); err != nil {
		return nil, err
	}
	kept := make([]Series, len(group))
	for i, s := range group {
		kept[i] = Series{Labels: s.Labels, Values: s.Values, Has: make([]uint64, len(s.Has))}
	}
	r := ranking{group: group, k: x.K, descending: x.Op != syntax.BottomK}
	for step := range e.n {
		if err := e.work(len(group)); err != nil {
			return nil, err
		}
		r.rank(step)
		for _, i := range r.best {
			kept[i].Has[step>>6] |= 1 << (step & 63)
		}
	}
	if e.n > 1 {
		return slices.DeleteFunc(kept, func(s Series) bool { return s.Empty() }), nil
	}
	slices.SortFunc(r.best, r.compare)
	out := make([]Series, len(r.best))
	for place, i := range r.best {
		out[place] = kept[i]
	}
	return out, nil
}

// A ranking finds the first k series of a group by their values at a step.
type ranking struct {
	group      []Series
	k          int
	descending bool
	step       int
	best       []int // a heap of indexes: the one that comes last is at the root
}

// rank fills r.best for a step.
func (r *ranking) rank(step int) {
	r.step, r.best = step, r.best[:0]
	if r.k <= 0 {
		return
	}
	for i := range r.group {
		switch {
		case !r.group[i].HasValue(step):
		case len(r.best) < r.k:
			r.best = append(r.best, i)
			r.up(len(r.best) - 1)
		case r.compare(i, r.best[0]) < 0:
			r.best[0] = i
			r.down(0)
		}
	}
}

// compare orders indexes of the group; no two are equal.
func (r *ranking) compare(i, j int) int {
	if c := compareValues(r.group[i].Values[r.step], r.group[j].Values[r.step], r.descending); c != 0 {
		return c
	}
	return i - j
}

func (r *ranking) up(at int) {
	for at > 0 {
		parent := (at - 1) / 2
		if r.compare(r.best[parent], r.best[at]) > 0 {
			return
		}
		r.best[parent], r.best[at] = r.best[at], r.best[parent]
		at = parent
	}
}

func (r *ranking) down(at int) {
	for {
		last := 2*at + 1
		if last >= len(r.best) {
			return
		}
		if other := last + 1; other < len(r.best) && r.compare(r.best[other], r.best[last]) > 0 {
			last = other
		}
		if r.compare(r.best[at], r.best[last]) > 0 {
			return
		}
		r.best[at], r.best[last] = r.best[last], r.best[at]
		at = last
	}
}
