package matrix

import (
	"fmt"

	"github.com/stele-go/stele/logql/syntax"
)

// An evaluator computes the parts of one expression. What a part returns may be shared
// with others, so no part changes the series of another.
type evaluator struct {
	n     int // steps
	leaf  func(*syntax.RangeAggregation) ([]Series, error)
	limit int64
}

func (e *evaluator) eval(expr syntax.MetricExpr) (Result, error) {
	r, err := e.compute(expr)
	if err != nil {
		return Result{}, err
	}
	if n := int64(len(r.Series)); e.limit > 0 && n > e.limit {
		return Result{}, &LimitError{Limit: e.limit, Series: n, Expr: expr}
	}
	return r, nil
}

func (e *evaluator) compute(expr syntax.MetricExpr) (Result, error) {
	switch x := expr.(type) {
	case *syntax.Literal:
		return Result{Scalar: true, Series: []Series{e.constant(x.Value)}}, nil
	case *syntax.Vector:
		return Result{Series: []Series{e.constant(x.Value)}}, nil
	case *syntax.RangeAggregation:
		s, err := e.leaf(x)
		return Result{Series: s}, err
	case *syntax.VectorAggregation:
		inner, err := e.eval(x.Inner)
		if err != nil {
			return Result{}, err
		}
		return e.aggregate(x, inner)
	case *syntax.Binary:
		return e.binary(x)
	case *syntax.LabelReplace:
		inner, err := e.eval(x.Inner)
		if err != nil {
			return Result{}, err
		}
		return labelReplace(x, inner)
	}
	return Result{}, fmt.Errorf("logql: %s: %T is not an expression that has numbers", expr, expr)
}

// constant returns a series without labels that is v at each step.
func (e *evaluator) constant(v float64) Series {
	s := NewSeries(nil, e.n)
	for i := range s.Values {
		s.Values[i] = v
		s.Has[i>>6] |= 1 << (i & 63)
	}
	return s
}
