package matrix

import (
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/stele-go/stele/logql/syntax"
)

// A sample is a series at one step.
type sample struct {
	labels map[string]string
	value  float64
}

var errMatch = errors.New("series do not pair")

// plain computes an expression at one step, as obviously as can be. A scalar is
// the value of the only sample.
func plain(x syntax.MetricExpr, leaf func(*syntax.RangeAggregation) []sample) (v []sample, scalar bool, err error) {
	switch x := x.(type) {
	case *syntax.Literal:
		return []sample{{nil, x.Value}}, true, nil
	case *syntax.Vector:
		return []sample{{map[string]string{}, x.Value}}, false, nil
	case *syntax.RangeAggregation:
		return leaf(x), false, nil
	case *syntax.VectorAggregation:
		in, scalar, err := plain(x.Inner, leaf)
		if err != nil {
			return nil, false, err
		}
		if scalar {
			in[0].labels = map[string]string{}
		}
		return plainAggregate(x, in), false, nil
	case *syntax.Binary:
		return plainBinary(x, leaf)
	}
	panic("unknown")
}

func pick(l map[string]string, names []string, not bool) map[string]string {
	out := map[string]string{}
	for k, v := range l {
		if slices.Contains(names, k) != not {
			out[k] = v
		}
	}
	return out
}

func text(l map[string]string) string { return formatLabels(ordered(l)) }

func ordered(l map[string]string) (labels []Label) {
	for k, v := range l {
		labels = append(labels, Label{k, v})
	}
	slices.SortFunc(labels, func(a, b Label) int { return CompareLabels([]Label{a}, []Label{b}) })
	return labels
}

func plainAggregate(x *syntax.VectorAggregation, in []sample) []sample {
	names, not := grouping(x.Grouping)
	byGroup := map[string][]sample{}
	for _, s := range in {
		k := text(pick(s.labels, names, not))
		byGroup[k] = append(byGroup[k], s)
	}
	var out []sample
	for _, group := range byGroup {
		slices.SortFunc(group, func(a, b sample) int { return CompareLabels(ordered(a.labels), ordered(b.labels)) })
		var values []float64
		sum := 0.0
		for _, s := range group {
			values = append(values, s.value)
			sum += s.value
		}
		n := float64(len(values))
		variance := 0.0
		for _, v := range values {
			variance += (v - sum/n) * (v - sum/n) / n
		}
		v := 0.0
		switch x.Op {
		case syntax.Sum:
			v = sum
		case syntax.Avg:
			v = sum / n
		case syntax.Min:
			v = plainBest(values, slices.Min[[]float64])
		case syntax.Max:
			v = plainBest(values, slices.Max[[]float64])
		case syntax.Count:
			v = n
		case syntax.Stdvar:
			v = variance
		case syntax.Stddev:
			v = math.Sqrt(variance)
		default: // topk, bottomk
			sort.SliceStable(group, func(i, j int) bool {
				return compareValues(group[i].value, group[j].value, x.Op != syntax.BottomK) < 0
			})
			out = append(out, group[:min(x.K, len(group))]...)
			continue
		}
		out = append(out, sample{pick(group[0].labels, names, not), v})
	}
	return out
}

func plainBinary(x *syntax.Binary, leaf func(*syntax.RangeAggregation) []sample) ([]sample, bool, error) {
	left, scalarLeft, err := plain(x.Left, leaf)
	if err != nil {
		return nil, false, err
	}
	right, scalarRight, err := plain(x.Right, leaf)
	if err != nil {
		return nil, false, err
	}
	names, not := matching(x)
	key := func(s sample) string { return text(pick(s.labels, names, not)) }
	filter := isComparison(x.Op) && !x.Bool
	var out []sample
	switch {
	case scalarLeft && scalarRight:
		return []sample{{nil, arithmetic(x.Op, left[0].value, right[0].value)}}, true, nil
	case scalarLeft || scalarRight:
		vector := append(append([]sample{}, right...), left...)
		for _, s := range vector {
			if s.labels == nil {
				continue
			}
			a, b := s.value, s.value
			if scalarLeft {
				a = left[0].value
			} else {
				b = right[0].value
			}
			v := arithmetic(x.Op, a, b)
			if filter {
				if v == 0 {
					continue
				}
				v = s.value
			}
			out = append(out, sample{s.labels, v})
		}
		return out, false, nil
	case isSet(x.Op):
		return plainSet(x.Op, left, right, key), false, nil
	}
	out, err = plainPairs(x, left, right, key, filter)
	return out, false, err
}

func plainSet(op syntax.BinaryOp, left, right []sample, key func(sample) string) (out []sample) {
	in := func(s sample, all []sample) bool {
		return slices.ContainsFunc(all, func(o sample) bool { return key(o) == key(s) })
	}
	for _, s := range left {
		if op == syntax.OpOr || in(s, right) == (op == syntax.OpAnd) {
			out = append(out, s)
		}
	}
	for _, s := range right {
		if op == syntax.OpOr && !in(s, left) {
			out = append(out, s)
		}
	}
	return out
}

func plainPairs(x *syntax.Binary, left, right []sample, key func(sample) string, filter bool) (out []sample, err error) {
	group := syntax.OneToOne
	if x.Matching != nil {
		group = x.Matching.Group
	}
	many, one := left, right
	if group == syntax.GroupRight {
		many, one = right, left
	}
	ones := map[string]sample{}
	for _, s := range one {
		if _, twice := ones[key(s)]; twice {
			return nil, errMatch
		}
		ones[key(s)] = s
	}
	seen := map[string]bool{}
	for _, m := range many {
		o, ok := ones[key(m)]
		if !ok {
			continue
		}
		l, r := m, o
		if group == syntax.GroupRight {
			l, r = o, m
		}
		labels := m.labels
		id := key(m)
		switch {
		case x.Matching == nil:
		case group == syntax.OneToOne:
			labels = pick(labels, x.Matching.Labels, !x.Matching.On)
		default:
			labels = pick(labels, nil, true)
			for _, name := range x.Matching.Include {
				delete(labels, name)
				if v := o.labels[name]; v != "" {
					labels[name] = v
				}
			}
			id = text(labels)
		}
		if seen[id] {
			return nil, errMatch
		}
		seen[id] = true
		v := arithmetic(x.Op, l.value, r.value)
		if filter && v == 0 {
			continue
		}
		if filter {
			v = l.value
		}
		out = append(out, sample{labels, v})
	}
	return out, nil
}

func plainBest(values []float64, of func([]float64) float64) float64 {
	numbers := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(numbers) == 0 {
		return math.NaN()
	}
	return of(numbers)
}
