package matrix

import (
	"math"
	"slices"

	"github.com/stele-go/stele/logql/syntax"
)

// aggregate computes a vector aggregation.
func (e *evaluator) aggregate(x *syntax.VectorAggregation, inner Result) (Result, error) {
	switch x.Op {
	case syntax.Sort, syntax.SortDesc:
		return e.sorted(inner, x.Op == syntax.SortDesc)
	case syntax.TopK, syntax.BottomK, syntax.ApproxTopK:
		return e.extremes(x, inner)
	}
	var out Result
	names, not := grouping(x.Grouping)
	all, err := e.groups(inner.Series, names, not)
	if err != nil {
		return Result{}, err
	}
	for _, group := range all {
		if err := e.work(len(group) * e.n); err != nil {
			return Result{}, err
		}
		const beside = 2 // columns that fold takes meanwhile
		if err := e.room(e.bytes(len(out.Series) + 1 + beside)); err != nil {
			return Result{}, err
		}
		s := NewSeries(selectLabels(group[0].Labels, names, not), e.n)
		fold(x.Op, &s, group)
		out.Series = append(out.Series, s)
	}
	return out, nil
}

// groups returns the series that belong together, in the order of their first ones.
// Series without any value are left out.
func (e *evaluator) groups(series []Series, names []string, not bool) ([][]Series, error) {
	var (
		out [][]Series
		of  = make(map[string]int)
		key []byte
	)
	for _, s := range series {
		if err := e.work(len(s.Labels)); err != nil {
			return nil, err
		}
		if s.Empty() {
			continue
		}
		key = appendKey(key[:0], s.Labels, names, not)
		i, ok := of[string(key)]
		if !ok {
			i = len(out)
			of[string(key)] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], s)
	}
	return out, nil
}

// fold sets the steps of to to the aggregate of those of series.
func fold(op syntax.VectorOp, to *Series, series []Series) {
	for _, s := range series {
		for w, word := range s.Has {
			to.Has[w] |= word
		}
	}
	switch op {
	case syntax.Sum:
		sumUp(to.Values, series)
	case syntax.Count:
		for _, s := range series {
			s.each(func(i int) { to.Values[i]++ })
		}
	case syntax.Min:
		choose(to.Values, series, func(v, best float64) bool { return v < best })
	case syntax.Max:
		choose(to.Values, series, func(v, best float64) bool { return v > best })
	case syntax.Avg:
		spread(to.Values, series)
	case syntax.Stdvar, syntax.Stddev:
		n, m2 := spread(to.Values, series)
		for i, count := range n {
			if count > 0 {
				to.Values[i] = m2[i] / count
				if op == syntax.Stddev {
					to.Values[i] = math.Sqrt(to.Values[i])
				}
			}
		}
	}
}

// sumUp adds up series, and what rounding lost of the sums (Neumaier).
func sumUp(sum []float64, series []Series) {
	lost := make([]float64, len(sum))
	for _, s := range series {
		s.each(func(i int) {
			v := s.Values[i]
			t := sum[i] + v
			switch {
			case math.IsInf(t, 0):
				lost[i] = 0
			case math.Abs(sum[i]) >= math.Abs(v):
				lost[i] += (sum[i] - t) + v
			default:
				lost[i] += (v - t) + sum[i]
			}
			sum[i] = t
		})
	}
	for i := range sum {
		sum[i] += lost[i]
	}
}

// choose keeps the value of each step that is better than all others; NaN only if there
// is no other.
func choose(best []float64, series []Series, better func(v, best float64) bool) {
	for i := range best {
		best[i] = math.NaN()
	}
	for _, s := range series {
		s.each(func(i int) {
			if v := s.Values[i]; math.IsNaN(best[i]) || better(v, best[i]) {
				best[i] = v
			}
		})
	}
}

// spread sets mean to the mean of each step, and returns the numbers of values and the
// sums of squared differences from the mean (Welford).
func spread(mean []float64, series []Series) (n, m2 []float64) {
	n, m2 = make([]float64, len(mean)), make([]float64, len(mean))
	for _, s := range series {
		s.each(func(i int) {
			v := s.Values[i]
			n[i]++
			d := v - mean[i]
			if math.IsInf(v, 0) || math.IsInf(mean[i], 0) {
				mean[i] += v
			} else {
				mean[i] += d / n[i]
			}
			m2[i] += d * (v - mean[i])
		})
	}
	return n, m2
}

// sorted orders series by the value of the first step, of which an instant query has
// no other; NaN comes last. A query over steps has no such order.
func (e *evaluator) sorted(inner Result, descending bool) (Result, error) {
	if e.n != 1 || inner.Scalar {
		return Result{Scalar: inner.Scalar, Sorted: inner.Sorted, Series: inner.Series}, nil // what inner is charged is given back
	}
	series := slices.DeleteFunc(slices.Clone(inner.Series), func(s Series) bool { return s.Empty() })
	err := e.sort(series, func(a, b Series) int {
		if c := compareValues(a.Values[0], b.Values[0], descending); c != 0 {
			return c
		}
		return CompareLabels(a.Labels, b.Labels)
	})
	return Result{Series: series, Sorted: true}, err
}

// compareValues orders values; NaN is behind all others either way.
func compareValues(a, b float64, descending bool) int {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		switch {
		case !math.IsNaN(a):
			return -1
		case !math.IsNaN(b):
			return 1
		}
		return 0
	case a == b:
		return 0
	case a < b != descending:
		return -1
	}
	return 1
}
