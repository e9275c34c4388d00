package matrix

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stele-go/stele/logql/syntax"
)

// An endingContext is cancelled once it has been looked at.
type endingContext struct {
	context.Context
	looks int
}

func (c *endingContext) Err() error {
	c.looks++
	return context.Canceled
}

// Each operation over many values ends soon after the context is done.
func TestCancel(t *testing.T) {
	const steps = 1000
	var many []Series
	for i := range 300 {
		s := NewSeries([]Label{{"a", fmt.Sprint(i)}, {"b", "x"}}, steps)
		for step := range steps {
			s.Set(step, float64(i))
		}
		many = append(many, s)
	}
	leaf := &syntax.RangeAggregation{}
	for _, x := range []syntax.MetricExpr{
		&syntax.VectorAggregation{Op: syntax.Sum, Inner: leaf},
		&syntax.VectorAggregation{Op: syntax.TopK, K: 5, Inner: leaf},
		&syntax.Binary{Op: syntax.OpAdd, Left: leaf, Right: leaf},
		&syntax.Binary{Op: syntax.OpAdd, Left: leaf, Right: &syntax.Literal{Value: 1}},
		&syntax.Binary{Op: syntax.OpOr, Left: leaf, Right: leaf},
		&syntax.VectorAggregation{Op: syntax.Avg, Grouping: &syntax.Grouping{Labels: []string{"a"}}, Inner: leaf},
	} {
		ctx := &endingContext{Context: context.Background()}
		_, err := Evaluate(ctx, x, Steps{Start: 0, End: steps - 1, Step: 1}, func(*syntax.RangeAggregation) ([]Series, error) { return many, nil }, 0, nil)
		if !errors.Is(err, context.Canceled) || ctx.looks != 1 {
			t.Errorf("%T: %v after %d looks at the context; want context.Canceled after the first", x, err, ctx.looks)
		}
	}
}

// What is between operators is charged, and given back once it is not needed any more.
func TestCharge(t *testing.T) {
	const steps = 1000
	leaf := &syntax.RangeAggregation{}
	twice := func(x syntax.MetricExpr) syntax.MetricExpr {
		return &syntax.Binary{Op: syntax.OpMul, Left: x, Right: &syntax.Literal{Value: 2}}
	}
	left, right := twice(leaf), twice(leaf)
	for range 20 {
		left = &syntax.Binary{Op: syntax.OpAdd, Left: left, Right: twice(leaf)}
		right = &syntax.Binary{Op: syntax.OpAdd, Left: twice(leaf), Right: right}
	}
	for name, c := range map[string]struct {
		x     syntax.MetricExpr
		least int64
	}{"left": {left, 2}, "right": {right, 20}} {
		kept, most := int64(0), int64(0)
		s := NewSeries(nil, steps)
		s.Set(0, 1)
		_, err := Evaluate(context.Background(), c.x, Steps{Start: 0, End: steps - 1, Step: 1}, func(*syntax.RangeAggregation) ([]Series, error) { return []Series{s}, nil }, 0, func(bytes int64) error {
			kept += bytes
			most = max(most, kept)
			return nil
		})
		if one := int64(8 * steps); err != nil || most < c.least*one || most > (c.least+2)*(one+one/8) || kept > one+one/8 {
			t.Errorf("deep on the %s: %d bytes at most, %d in the end, %v; want about %d, %d", name, most, kept, err, c.least*one, one)
		}
	}
	full := errors.New("full")
	_, err := Evaluate(context.Background(), right, Steps{Start: 0, End: steps - 1, Step: 1}, func(*syntax.RangeAggregation) ([]Series, error) { return []Series{NewSeries(nil, steps)}, nil }, 0, func(int64) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("%v; want %v", err, full)
	}
}

// What passes through an operator as it is, as sort does in a query over steps, is given back once.
func TestChargeOfSort(t *testing.T) {
	var x syntax.MetricExpr = &syntax.Vector{Value: 1}
	for range 5 {
		x = &syntax.VectorAggregation{Op: syntax.Sort, Inner: x}
	}
	x = &syntax.Binary{Op: syntax.OpAdd, Left: x, Right: &syntax.Literal{Value: 1}}
	kept, least := int64(0), int64(0)
	_, err := Evaluate(context.Background(), x, Steps{Start: 0, End: 999, Step: 1}, nil, 0, func(bytes int64) error {
		kept += bytes
		least = min(least, kept)
		return nil
	})
	if err != nil || least < 0 || kept <= 0 {
		t.Errorf("%d bytes at least, %d in the end, %v; want 0, those of a series", least, kept, err)
	}
}

// Pairs that a comparison drops are remembered: their memory is charged, and that of pairs
// which have no step in common is not taken.
func TestDroppedPairsAreCharged(t *testing.T) {
	const steps, most = 64, 10 << 10
	left, right := &syntax.RangeAggregation{}, &syntax.RangeAggregation{}
	full := errors.New("full")
	for apart, want := range map[bool]error{false: full, true: nil} {
		var many, ones []Series
		for i := range steps {
			s, one := NewSeries([]Label{{"i", fmt.Sprint(i)}}, steps), NewSeries([]Label{{"v", fmt.Sprint(i)}}, steps)
			for step := range steps {
				if !apart || i == 0 && step == 0 {
					s.Set(step, 1)
				}
			}
			one.Set(i, 2)
			many, ones = append(many, s), append(ones, one)
		}
		x := &syntax.Binary{Op: syntax.OpGreater, Left: left, Right: right, Matching: &syntax.Matching{On: true, Group: syntax.GroupLeft, Include: []string{"v"}}}
		sides := map[*syntax.RangeAggregation][]Series{left: many, right: ones}
		_, err := Evaluate(context.Background(), x, Steps{Start: 0, End: steps - 1, Step: 1}, func(r *syntax.RangeAggregation) ([]Series, error) { return sides[r], nil }, 0, func(bytes int64) error {
			if bytes > most {
				return full
			}
			return nil
		})
		if !errors.Is(err, want) {
			t.Errorf("apart %v: %v; want %v", apart, err, want)
		}
	}
}

// A join whose result has too many series ends before it has made them.
func TestPairsEndAtALimit(t *testing.T) {
	const steps, most = 64, 10 << 10
	var many, ones []Series
	for i := range steps {
		s, one := NewSeries([]Label{{"i", fmt.Sprint(i)}}, steps), NewSeries([]Label{{"v", fmt.Sprint(i)}}, steps)
		for step := range steps {
			s.Set(step, 1)
		}
		one.Set(i, 1)
		many, ones = append(many, s), append(ones, one)
	}
	left, right := &syntax.RangeAggregation{}, &syntax.RangeAggregation{}
	x := &syntax.Binary{Op: syntax.OpMul, Left: left, Right: right, Matching: &syntax.Matching{On: true, Group: syntax.GroupLeft, Include: []string{"v"}}}
	sides := map[*syntax.RangeAggregation][]Series{left: many, right: ones}
	full, asked := errors.New("full"), int64(0)
	for _, limit := range []int64{0, 100} {
		_, err := Evaluate(context.Background(), x, Steps{Start: 0, End: steps - 1, Step: 1}, func(r *syntax.RangeAggregation) ([]Series, error) { return sides[r], nil }, limit, func(bytes int64) error {
			if asked = max(asked, bytes); limit == 0 && bytes > most {
				return full
			}
			return nil
		})
		over, limited := errors.AsType[*LimitError](err)
		switch {
		case limit == 0 && (!errors.Is(err, full) || asked > 2*most):
			t.Errorf("%v, after %d bytes; want %v after about %d", err, asked, full, most)
		case limit > 0 && (!limited || over.Series != limit+1):
			t.Errorf("%v; want a LimitError of %d series", err, limit+1)
		}
	}
}

// The first k are the same as those of sorting, for any k.
func TestRanking(t *testing.T) {
	var group []Series
	for i := range 50 {
		s := NewSeries([]Label{{"i", fmt.Sprintf("%02d", i)}}, 1)
		s.Set(0, float64(i*7%10))
		group = append(group, s)
	}
	for k := range 60 {
		x := &syntax.VectorAggregation{Op: syntax.TopK, K: k, Inner: &syntax.RangeAggregation{}}
		r, err := Evaluate(context.Background(), x, Steps{}, func(*syntax.RangeAggregation) ([]Series, error) { return group, nil }, 0, nil)
		if err != nil || len(r.Series) != min(k, len(group)) {
			t.Fatalf("topk(%d): %d series, %v", k, len(r.Series), err)
		}
		for i := 1; i < len(r.Series); i++ {
			a, b := r.Series[i-1], r.Series[i]
			if a.Values[0] < b.Values[0] || a.Values[0] == b.Values[0] && CompareLabels(a.Labels, b.Labels) >= 0 {
				t.Errorf("topk(%d): %v %v is before %v %v", k, a.Labels, a.Values, b.Labels, b.Values)
			}
		}
	}
}

func BenchmarkTopK(b *testing.B) {
	for _, k := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			var group []Series
			for i := range 20_000 {
				s := NewSeries([]Label{{"i", fmt.Sprint(i)}}, 1)
				s.Set(0, float64(i*7919%20_011))
				group = append(group, s)
			}
			x := &syntax.VectorAggregation{Op: syntax.TopK, K: k, Inner: &syntax.RangeAggregation{}}
			for b.Loop() {
				if _, err := Evaluate(context.Background(), x, Steps{}, func(*syntax.RangeAggregation) ([]Series, error) { return group, nil }, 0, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
