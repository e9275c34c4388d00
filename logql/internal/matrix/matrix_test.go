package matrix

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
	"github.com/stele-go/stele/logql/syntax"
)

// A maker makes random expressions and series.
type maker struct {
	*rand.Rand
	steps  int
	leaves map[*syntax.RangeAggregation][]Series
}

func (m *maker) labels() (out []string) {
	for _, name := range []string{"a", "b", "c"} {
		if m.IntN(2) == 0 {
			out = append(out, name)
		}
	}
	return out
}

func (m *maker) leaf() *syntax.RangeAggregation {
	var series []Series
	for _, a := range []string{"", "1", "2"} {
		for _, b := range []string{"", "x", "y"} {
			if m.IntN(2) == 0 {
				continue
			}
			var l []Label
			if a != "" {
				l = append(l, Label{"a", a})
			}
			if b != "" {
				l = append(l, Label{"b", b})
			}
			s := NewSeries(l, m.steps)
			for i := range m.steps {
				if m.IntN(3) > 0 {
					s.Set(i, float64(m.IntN(5)))
				}
			}
			series = append(series, s)
		}
	}
	r := &syntax.RangeAggregation{}
	m.leaves[r] = series
	return r
}

const top = 3 // depth of an expression

// inexact reports operations that round: the next ones would make much of a difference
// in the last place.
func inexact(op any) bool {
	switch op {
	case syntax.Avg, syntax.Stddev, syntax.Stdvar, syntax.OpDiv, syntax.OpPow:
		return true
	}
	return false
}

func (m *maker) expr(depth int) syntax.MetricExpr {
	switch n := m.IntN(10); {
	case depth == 0 || n < 2:
		return m.leaf()
	case n == 2:
		return &syntax.Vector{Value: float64(m.IntN(4))}
	case n < 6:
		x := &syntax.VectorAggregation{Op: syntax.VectorOp(m.IntN(int(syntax.BottomK) + 1)), K: m.IntN(4), Inner: m.expr(depth - 1)}
		if depth < top && inexact(x.Op) {
			x.Op = syntax.Sum
		}
		if m.IntN(2) == 0 {
			x.Grouping = &syntax.Grouping{Without: m.IntN(2) == 0, Labels: m.labels()}
		}
		return x
	}
	x := &syntax.Binary{Op: syntax.BinaryOp(m.IntN(int(syntax.OpLessOrEqual) + 1)), Left: m.expr(depth - 1), Right: m.expr(depth - 1)}
	if depth < top && inexact(x.Op) {
		x.Op = syntax.OpMul
	}
	switch {
	case isSet(x.Op):
	case m.IntN(4) == 0:
		x.Left = &syntax.Literal{Value: float64(m.IntN(4))}
	case m.IntN(4) == 0:
		x.Right = &syntax.Literal{Value: float64(m.IntN(4))}
	}
	x.Bool = isComparison(x.Op) && m.IntN(2) == 0
	if m.IntN(2) == 0 {
		x.Matching = &syntax.Matching{On: m.IntN(2) == 0, Labels: m.labels()}
		if !isSet(x.Op) {
			x.Matching.Group = syntax.Group(m.IntN(3))
			if x.Matching.Group != syntax.OneToOne {
				x.Matching.Include = m.labels()
			}
		}
	}
	return x
}

// TestAgainstPlain compares whole expressions with an evaluator of single steps.
func TestAgainstPlain(t *testing.T) {
	seed := testseed.Of(t)
	failed := 0
	for i := range 1000 {
		m := &maker{rand.New(rand.NewPCG(seed, uint64(i))), 1, map[*syntax.RangeAggregation][]Series{}}
		if m.IntN(3) > 0 {
			m.steps = 1 + m.IntN(100)
		}
		x := m.expr(top)
		before := clone(m.leaves)
		got, err := Evaluate(context.Background(), x, Steps{Start: 1000, End: 1000 + int64(m.steps-1), Step: 1}, func(r *syntax.RangeAggregation) ([]Series, error) { return m.leaves[r], nil }, 0, nil)
		if wantErr := comparePlain(t, m, x, got, err); wantErr {
			failed++
		}
		for r, series := range before {
			for j := range series {
				if !slices.Equal(series[j].Has, m.leaves[r][j].Has) || !slices.Equal(series[j].Values, m.leaves[r][j].Values) {
					t.Fatalf("%d: %T: series of a leaf were changed", i, x)
				}
			}
		}
		if t.Failed() {
			t.Fatalf("case %d", i)
		}
	}
	t.Logf("%d of 1000 do not pair", failed)
}

func clone(leaves map[*syntax.RangeAggregation][]Series) map[*syntax.RangeAggregation][]Series {
	out := map[*syntax.RangeAggregation][]Series{}
	for r, all := range leaves {
		for _, s := range all {
			out[r] = append(out[r], Series{s.Labels, slices.Clone(s.Values), slices.Clone(s.Has)})
		}
	}
	return out
}

func comparePlain(t *testing.T, m *maker, x syntax.MetricExpr, got Result, err error) (failed bool) {
	t.Helper()
	for step := range m.steps {
		want, scalar, wantErr := plain(x, func(r *syntax.RangeAggregation) (out []sample) {
			for _, s := range m.leaves[r] {
				if s.HasValue(step) {
					l := map[string]string{}
					for _, x := range s.Labels {
						l[x.Name] = x.Value
					}
					out = append(out, sample{l, s.Values[step]})
				}
			}
			return out
		})
		if wantErr != nil {
			var match *MatchError
			if !errors.As(err, &match) {
				t.Errorf("step %d: %v, want an error", step, err)
			}
			return true
		}
		if err != nil {
			continue // of another step
		}
		wanted := map[string]float64{}
		for _, s := range want {
			wanted[text(s.labels)] = s.value
		}
		if scalar != got.Scalar {
			t.Errorf("scalar: %v, want %v", got.Scalar, scalar)
		}
		n := 0
		for _, s := range got.Series {
			if !s.HasValue(step) {
				continue
			}
			n++
			v, ok := wanted[formatLabels(s.Labels)]
			if !ok || math.Abs(v-s.Values[step]) > 1e-9*(1+math.Abs(v)) || math.IsNaN(v) != math.IsNaN(s.Values[step]) {
				t.Errorf("step %d: %s: %v, want %v %v", step, formatLabels(s.Labels), s.Values[step], v, ok)
			}
		}
		if n != len(wanted) {
			t.Errorf("step %d: %d series, want %d", step, n, len(wanted))
		}
	}
	return false
}

func one(value float64, labels ...Label) Series {
	s := NewSeries(labels, 1)
	s.Set(0, value)
	return s
}

// Two pairs where there may be one are an error also if the comparison drops them, as in Loki.
func TestDroppedPairs(t *testing.T) {
	left, right := &syntax.RangeAggregation{}, &syntax.RangeAggregation{}
	series := func(value float64, hosts ...string) (list []Series) {
		for _, host := range hosts {
			s := NewSeries([]Label{{"env", "x"}, {"host", host}}, 2)
			s.Set(0, value)
			list = append(list, s)
		}
		return list
	}
	sides := map[*syntax.RangeAggregation][]Series{left: series(1, "a", "b"), right: series(9, "c")}
	for _, m := range []*syntax.Matching{
		{On: true, Labels: []string{"env"}},
		{On: true, Labels: []string{"env"}, Group: syntax.GroupLeft, Include: []string{"host"}},
	} {
		for _, op := range []syntax.BinaryOp{syntax.OpGreater, syntax.OpLess} {
			x := &syntax.Binary{Op: op, Left: left, Right: right, Matching: m}
			_, err := Evaluate(context.Background(), x, Steps{Start: 0, End: 1, Step: 1}, func(r *syntax.RangeAggregation) ([]Series, error) { return sides[r], nil }, 0, nil)
			if _, ok := errors.AsType[*MatchError](err); !ok {
				t.Errorf("%v by %v: %v; want a MatchError", op, m, err)
			}
		}
	}
}

func TestSorted(t *testing.T) {
	in := []Series{one(2, Label{"a", "1"}), one(math.NaN(), Label{"a", "2"}), one(3, Label{"a", "3"}), one(2, Label{"a", "0"}), one(math.Inf(-1), Label{"a", "5"})}
	for _, c := range []struct {
		op   syntax.VectorOp
		want string
	}{
		{syntax.Sort, "50132"}, {syntax.SortDesc, "30152"}, {syntax.TopK, "301"}, {syntax.BottomK, "501"}, {syntax.ApproxTopK, "301"},
	} {
		r, err := Evaluate(context.Background(), &syntax.VectorAggregation{Op: c.op, K: 3, Inner: &syntax.RangeAggregation{}}, Steps{}, func(*syntax.RangeAggregation) ([]Series, error) { return in, nil }, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, s := range r.Series {
			got += s.Labels[0].Value
		}
		if got != c.want || !r.Sorted {
			t.Errorf("op %d: %s, want %s", c.op, got, c.want)
		}
	}
}

func TestLabelReplace(t *testing.T) {
	in := []Label{{"a", "host-1"}, {"c", "x"}}
	for _, c := range []struct{ to, replacement, from, re, want string }{
		{"b", "$1", "a", "host-(.*)", `{a="host-1", b="1", c="x"}`},
		{"b", "$1", "a", "ost-(.*)", `{a="host-1", c="x"}`},
		{"c", "", "a", ".*", `{a="host-1"}`},
		{"a", "${n}!", "a", "(?P<n>.*)-.*", `{a="host!", c="x"}`},
		{"z", "none", "missing", "", `{a="host-1", c="x", z="none"}`},
	} {
		x := &syntax.LabelReplace{Inner: &syntax.RangeAggregation{}, To: c.to, Replacement: c.replacement, From: c.from, Regexp: c.re}
		r, err := Evaluate(context.Background(), x, Steps{}, func(*syntax.RangeAggregation) ([]Series, error) { return []Series{one(1, in...)}, nil }, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := formatLabels(r.Series[0].Labels); got != c.want {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
	}
}

func TestLimit(t *testing.T) {
	x := &syntax.VectorAggregation{Op: syntax.Sum, Inner: &syntax.RangeAggregation{Log: &syntax.LogExpr{}, Interval: time.Minute}}
	leaf := func(*syntax.RangeAggregation) ([]Series, error) {
		return []Series{one(1, Label{"a", "1"}), one(1, Label{"a", "2"}), one(1, Label{"a", "3"})}, nil
	}
	_, err := Evaluate(context.Background(), x, Steps{}, leaf, 2, nil)
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Limit != 2 || limit.Series != 3 {
		t.Errorf("%v, want a LimitError of 3 series", err)
	}
	if _, err := Evaluate(context.Background(), x, Steps{}, leaf, 3, nil); err != nil {
		t.Error(err)
	}
}

func TestSums(t *testing.T) {
	leaf := func(*syntax.RangeAggregation) ([]Series, error) {
		return []Series{one(1e16, Label{"a", "1"}), one(1, Label{"a", "2"}), one(-1e16, Label{"a", "3"})}, nil
	}
	r, err := Evaluate(context.Background(), &syntax.VectorAggregation{Op: syntax.Sum, Inner: &syntax.RangeAggregation{}}, Steps{}, leaf, 0, nil)
	if err != nil || r.Series[0].Values[0] != 1 {
		t.Errorf("%v %v, want 1: the sum is careless", r, err)
	}
}

func BenchmarkSumBy(b *testing.B) {
	var in []Series
	for _, a := range "abcdefghijklmnopqrstuvwxyz" {
		for _, c := range "0123456789" {
			s := NewSeries([]Label{{"a", string(a)}, {"c", string(c)}}, 1000)
			for i := range 1000 {
				s.Set(i, float64(i))
			}
			in = append(in, s)
		}
	}
	x := &syntax.VectorAggregation{Op: syntax.Sum, Grouping: &syntax.Grouping{Labels: []string{"a"}}, Inner: &syntax.RangeAggregation{}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Evaluate(context.Background(), x, Steps{Start: 0, End: 999, Step: 1}, func(*syntax.RangeAggregation) ([]Series, error) { return in, nil }, 0, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/260_000, "ns/value")
}
