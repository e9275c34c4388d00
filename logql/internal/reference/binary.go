package reference

import (
	"math"

	"github.com/stele-go/stele/logql/syntax"
)

// binary joins two sides at one moment.
func binary(n *syntax.Binary, left []Sample, leftScalar bool, right []Sample, rightScalar bool) ([]Sample, error) {
	switch {
	case n.Op.Set():
		return set(n, left, right), nil
	case rightScalar:
		return withNumber(n, left, right[0].Value, false), nil
	case leftScalar:
		return withNumber(n, right, left[0].Value, true), nil
	}
	return match(n, left, right)
}

// withNumber joins each sample with a number.
func withNumber(n *syntax.Binary, samples []Sample, number float64, numberLeft bool) []Sample {
	var result []Sample
	for _, s := range samples {
		a, b := s.Value, number
		if numberLeft {
			a, b = b, a
		}
		if v, ok := operate(n, a, b, s.Value); ok {
			result = append(result, Sample{s.Labels, v})
		}
	}
	return result
}

// operate returns the value, and whether there is one: a comparison without bool keeps the
// value that it is about.
func operate(n *syntax.Binary, a, b, keep float64) (float64, bool) {
	holds := false
	switch n.Op {
	case syntax.OpAdd:
		return a + b, true
	case syntax.OpSub:
		return a - b, true
	case syntax.OpMul:
		return a * b, true
	case syntax.OpDiv:
		if b == 0 {
			return math.NaN(), true
		}
		return a / b, true
	case syntax.OpMod:
		return math.Mod(a, b), true
	case syntax.OpPow:
		return math.Pow(a, b), true
	case syntax.OpEqual:
		holds = a == b
	case syntax.OpNotEqual:
		holds = a != b
	case syntax.OpGreater:
		holds = a > b
	case syntax.OpGreaterOrEqual:
		holds = a >= b
	case syntax.OpLess:
		holds = a < b
	case syntax.OpLessOrEqual:
		holds = a <= b
	}
	if n.Bool {
		return float64(number01(holds)), true
	}
	return keep, holds
}

// signature returns the labels by which two series belong together.
func signature(n *syntax.Binary, labels Labels) Labels {
	if n.Matching == nil {
		return withoutEmpty(group(labels, nil))
	}
	return withoutEmpty(group(labels, &syntax.Grouping{Without: !n.Matching.On, Labels: n.Matching.Labels}))
}

func set(n *syntax.Binary, left, right []Sample) []Sample {
	has := func(side []Sample, s Sample) bool {
		for _, other := range side {
			if signature(n, other.Labels).Key() == signature(n, s.Labels).Key() {
				return true
			}
		}
		return false
	}
	var result []Sample
	for _, s := range left {
		if n.Op == syntax.OpOr || has(right, s) == (n.Op == syntax.OpAnd) {
			result = append(result, s)
		}
	}
	if n.Op == syntax.OpOr {
		for _, s := range right {
			if !has(left, s) {
				result = append(result, s)
			}
		}
		for i := range result {
			result[i].Labels = withoutEmpty(group(result[i].Labels, nil))
		}
	}
	return result
}

// match joins the series of both sides that belong together.
func match(n *syntax.Binary, left, right []Sample) ([]Sample, error) {
	many, one, swapped := left, right, false
	if n.Matching != nil && n.Matching.Group == syntax.GroupRight {
		many, one, swapped = right, left, true
	}
	ones := map[string]Sample{}
	for _, s := range one {
		key := signature(n, s.Labels).Key()
		if _, twice := ones[key]; twice {
			return nil, ErrMatching
		}
		ones[key] = s
	}
	grouped := n.Matching != nil && n.Matching.Group != syntax.OneToOne
	seen := map[string]bool{}
	var result []Sample
	for _, s := range many {
		key := signature(n, s.Labels).Key()
		other, ok := ones[key]
		if !ok {
			continue
		}
		if !grouped && seen[key] {
			return nil, ErrMatching
		}
		seen[key] = true
		a, b := s.Value, other.Value
		if swapped {
			a, b = b, a
		}
		labels := withoutEmpty(group(s.Labels, nil))
		if n.Matching != nil {
			labels = signature(n, s.Labels)
		}
		if grouped {
			labels = withoutEmpty(include(n.Matching, s.Labels, other.Labels))
		}
		if seen["result "+labels.Key()] {
			return nil, ErrMatching
		}
		seen["result "+labels.Key()] = true
		if v, ok := operate(n, a, b, a); ok {
			result = append(result, Sample{labels, v})
		}
	}
	return result, nil
}

// include returns the labels of the side with many series, and those of the other side that
// the query names.
func include(m *syntax.Matching, many, one Labels) Labels {
	labels := group(many, nil)
	for _, name := range m.Include {
		delete(labels, name)
		if v := one[name]; v != "" {
			labels[name] = v
		}
	}
	return labels
}
