package matrix

import (
	"fmt"
	"slices"

	"github.com/stele-go/stele/logql/syntax"
)

// A MatchError reports series of the two sides of a binary operation that do not pair.
// Its text is Loki's.
type MatchError struct {
	Expr *syntax.Binary
	Text string
}

func (e *MatchError) Error() string { return e.Text }

func (e *evaluator) binary(x *syntax.Binary) (Result, error) {
	left, err := e.eval(x.Left)
	if err != nil {
		return Result{}, err
	}
	right, err := e.eval(x.Right)
	if err != nil {
		return Result{}, err
	}
	r, err := e.join(x, left, right)
	if err == nil {
		err = e.keep(&r, left, right)
	}
	return r, err
}

// join computes an operation of two sides.
func (e *evaluator) join(x *syntax.Binary, left, right Result) (Result, error) {
	switch {
	case isSet(x.Op):
		if left.Scalar || right.Scalar {
			return Result{}, fmt.Errorf("logql: %s: a number; want series on both sides of and, or, unless", x)
		}
		return e.set(x, left.Series, right.Series)
	case left.Scalar && right.Scalar:
		if err := e.room(e.bytes(1)); err != nil {
			return Result{}, err
		}
		out := NewSeries(nil, e.n)
		column{op: x.Op}.compute(&out, &left.Series[0], &right.Series[0], &left.Series[0])
		return Result{Scalar: true, Series: []Series{out}}, nil
	case left.Scalar:
		return e.withScalar(x, right, &left.Series[0], true)
	case right.Scalar:
		return e.withScalar(x, left, &right.Series[0], false)
	}
	return e.pairs(x, left.Series, right.Series)
}

// withScalar computes an operation of each series with a number.
func (e *evaluator) withScalar(x *syntax.Binary, vector Result, scalar *Series, scalarLeft bool) (Result, error) {
	out := Result{Sorted: vector.Sorted}
	for i := range vector.Series {
		if err := e.work(e.n); err != nil {
			return Result{}, err
		}
		if err := e.room(e.bytes(len(out.Series) + 1)); err != nil {
			return Result{}, err
		}
		in := &vector.Series[i]
		left, right := in, scalar
		if scalarLeft {
			left, right = scalar, in
		}
		s := NewSeries(in.Labels, e.n)
		columnOf(x).compute(&s, left, right, in)
		if !s.Empty() {
			out.Series = append(out.Series, s)
		}
	}
	return out, nil
}

// matching returns the labels by which series pair.
func matching(x *syntax.Binary) (names []string, not bool) {
	if x.Matching == nil {
		return nil, true
	}
	return x.Matching.Labels, !x.Matching.On
}

// set computes and, or, unless, of which series pair many to many.
func (e *evaluator) set(x *syntax.Binary, left, right []Series) (Result, error) {
	names, not := matching(x)
	if x.Op == syntax.OpOr {
		return e.either(left, right, names, not)
	}
	in, err := e.presence(right, names, not)
	if err != nil {
		return Result{}, err
	}
	kept, err := e.mask(left, in, names, not, x.Op == syntax.OpAnd)
	return Result{Series: kept}, err
}

// either computes or: what is left, and of what is right that which left has not.
func (e *evaluator) either(left, right []Series, names []string, not bool) (Result, error) {
	in, err := e.presence(left, names, not)
	if err != nil {
		return Result{}, err
	}
	missing, err := e.mask(right, in, names, not, false)
	if err != nil {
		return Result{}, err
	}
	out := newUnion(e.n)
	for _, list := range [][]Series{left, missing} {
		for _, s := range list {
			if err := e.work(e.n); err != nil {
				return Result{}, err
			}
			out.add(s)
		}
	}
	return Result{Series: out.series}, nil
}

// presence returns at which steps there is a series with each set of labels.
func (e *evaluator) presence(series []Series, names []string, not bool) (map[string][]uint64, error) {
	out := make(map[string][]uint64)
	var key []byte
	for _, s := range series {
		if err := e.work(len(s.Has)); err != nil {
			return nil, err
		}
		key = appendKey(key[:0], s.Labels, names, not)
		has := out[string(key)]
		if has == nil {
			if err := e.room(e.hasBytes(len(out) + 1)); err != nil {
				return nil, err
			}
			has = make([]uint64, len(s.Has))
			out[string(key)] = has
		}
		for w, word := range s.Has {
			has[w] |= word
		}
	}
	return out, nil
}

// mask keeps of each series the steps at which in has its labels, or has them not.
func (e *evaluator) mask(series []Series, in map[string][]uint64, names []string, not, keep bool) ([]Series, error) {
	var (
		out []Series
		key []byte
	)
	for _, s := range series {
		if err := e.work(len(s.Has)); err != nil {
			return nil, err
		}
		key = appendKey(key[:0], s.Labels, names, not)
		has, ok := in[string(key)]
		if !ok && keep {
			continue
		}
		if err := e.room(e.hasBytes(len(out) + 1)); err != nil {
			return nil, err
		}
		kept := Series{Labels: s.Labels, Values: s.Values, Has: append([]uint64(nil), s.Has...)}
		for w := range has {
			if keep {
				kept.Has[w] &= has[w]
			} else {
				kept.Has[w] &^= has[w]
			}
		}
		if !kept.Empty() {
			out = append(out, kept)
		}
	}
	return out, nil
}

// A union joins series of equal labels that have values at different steps.
type union struct {
	n      int
	series []Series
	of     map[string]int
	owned  map[int]bool // those whose values are the union's own
	key    []byte
}

func newUnion(steps int) *union {
	return &union{n: steps, of: make(map[string]int), owned: make(map[int]bool)}
}

// add returns false if a series with the same labels has a value at the same step. Labels with
// an empty value, which are the same as missing ones, are left out.
func (u *union) add(s Series) bool {
	if slices.ContainsFunc(s.Labels, func(l Label) bool { return l.Value == "" }) {
		s.Labels = selectLabels(s.Labels, nil, true)
	}
	u.key = appendKey(u.key[:0], s.Labels, nil, true)
	i, ok := u.of[string(u.key)]
	if !ok {
		u.of[string(u.key)] = len(u.series)
		u.series = append(u.series, s)
		return true
	}
	if overlap(u.series[i].Has, s.Has) {
		return false
	}
	if !u.owned[i] {
		u.owned[i] = true
		u.series[i].Values = append([]float64(nil), u.series[i].Values...)
		u.series[i].Has = append([]uint64(nil), u.series[i].Has...)
	}
	s.each(func(step int) { u.series[i].Set(step, s.Values[step]) })
	return true
}

func overlap(a, b []uint64) bool {
	for w := range a {
		if a[w]&b[w] != 0 {
			return true
		}
	}
	return false
}
