package reference

import (
	"math"
	"slices"

	"github.com/stele-go/stele/logql/syntax"
)

// Values answers a metric query at one moment. Entries are ordered by time. A number is a sample
// without labels, and scalar is true.
func Values(e syntax.MetricExpr, entries []Entry, at int64) (samples []Sample, scalar bool, err error) {
	switch n := e.(type) {
	case *syntax.Literal:
		return []Sample{{Labels{}, n.Value}}, true, nil
	case *syntax.Vector:
		return []Sample{{Labels{}, n.Value}}, false, nil
	case *syntax.RangeAggregation:
		samples, err = rangeAggregation(n, entries, at)
	case *syntax.VectorAggregation:
		if inner, ok := n.Inner.(*syntax.RangeAggregation); ok && n.Op == syntax.Sum && passesGrouping(n, inner) {
			grouped := *inner
			grouped.Grouping = n.Grouping
			n = &syntax.VectorAggregation{Op: n.Op, Grouping: n.Grouping, Inner: &grouped}
		}
		if samples, _, err = Values(n.Inner, entries, at); err == nil {
			samples, err = aggregate(n, samples)
		}
	case *syntax.LabelReplace:
		if samples, _, err = Values(n.Inner, entries, at); err == nil {
			labelReplace(n, samples)
		}
	case *syntax.Binary:
		left, leftScalar, err := Values(n.Left, entries, at)
		if err != nil {
			return nil, false, err
		}
		right, rightScalar, err := Values(n.Right, entries, at)
		if err != nil {
			return nil, false, err
		}
		samples, err = binary(n, left, leftScalar, right, rightScalar)
		return samples, leftScalar && rightScalar, err
	}
	return samples, false, err
}

// passesGrouping reports whether Loki groups lines, not series, as an aggregation says. It
// may then group by the unwrapped label.
func passesGrouping(n *syntax.VectorAggregation, inner *syntax.RangeAggregation) bool {
	return n.Grouping != nil && !n.Grouping.Without && inner.Grouping == nil && inner.Unwrap != nil &&
		(inner.Op == syntax.SumOverTime || inner.Op == syntax.Rate) && slices.Contains(n.Grouping.Labels, inner.Unwrap.Label)
}

func labelReplace(n *syntax.LabelReplace, samples []Sample) {
	re := anchored(n.Regexp)
	for i, s := range samples {
		value := s.Labels[n.From]
		found := re.FindStringSubmatchIndex(value)
		if found == nil {
			continue
		}
		labels := group(s.Labels, nil)
		delete(labels, n.To)
		if text := string(re.ExpandString(nil, n.Replacement, value, found)); text != "" {
			labels[n.To] = text
		}
		samples[i].Labels = labels
	}
}

// aggregate joins the samples of each group.
func aggregate(n *syntax.VectorAggregation, samples []Sample) ([]Sample, error) {
	switch n.Op {
	case syntax.Sort, syntax.SortDesc:
		return samples, nil
	case syntax.ApproxTopK:
		return nil, ErrUnsupported
	}
	by := n.Grouping
	if by == nil {
		by = &syntax.Grouping{}
	}
	groups := map[string][]Sample{}
	for _, s := range samples {
		key := withoutEmpty(group(s.Labels, by)).Key()
		groups[key] = append(groups[key], s)
	}
	var result []Sample
	for _, members := range groups {
		if n.Op == syntax.TopK || n.Op == syntax.BottomK {
			result = append(result, most(members, n.K, n.Op == syntax.TopK)...)
			continue
		}
		var values []float64
		for _, s := range members {
			values = append(values, s.Value)
		}
		result = append(result, Sample{withoutEmpty(group(members[0].Labels, by)), joined(n.Op, values)})
	}
	return result, nil
}

// most returns the k members with the largest values, or the smallest; NaN comes last.
func most(members []Sample, k int, largest bool) []Sample {
	slices.SortStableFunc(members, func(a, b Sample) int {
		switch {
		case math.IsNaN(a.Value) || math.IsNaN(b.Value):
			return number01(math.IsNaN(a.Value)) - number01(math.IsNaN(b.Value))
		case a.Value > b.Value == largest:
			return -number01(a.Value != b.Value)
		}
		return number01(a.Value != b.Value)
	})
	return members[:min(k, len(members))]
}

func number01(b bool) int {
	if b {
		return 1
	}
	return 0
}

func joined(op syntax.VectorOp, values []float64) float64 {
	switch op {
	case syntax.Sum:
		return sum(values)
	case syntax.Avg:
		return sum(values) / float64(len(values))
	case syntax.Min:
		return slices.MinFunc(values, nanLast(1))
	case syntax.Max:
		return slices.MaxFunc(values, nanLast(-1))
	case syntax.Count:
		return float64(len(values))
	case syntax.Stddev:
		return math.Sqrt(variance(values))
	}
	return variance(values)
}

// nanLast compares numbers; NaN comes before all with -1, and behind all with 1.
func nanLast(nan int) func(a, b float64) int {
	return func(a, b float64) int {
		switch {
		case math.IsNaN(a) && math.IsNaN(b) || a == b:
			return 0
		case math.IsNaN(a):
			return nan
		case math.IsNaN(b):
			return -nan
		case a < b:
			return -1
		}
		return 1
	}
}
