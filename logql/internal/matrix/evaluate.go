package matrix

import (
	"context"
	"fmt"
	"slices"

	"github.com/stele-go/stele/logql/syntax"
)

// An evaluator computes the parts of one expression. What a part returns may be shared
// with others, so no part changes the series of another.
type evaluator struct {
	ctx    context.Context
	n      int // steps
	done   int // values computed since ctx was looked at
	leaf   func(*syntax.RangeAggregation) ([]Series, error)
	limit  int64
	charge func(bytes int64) error // may be nil
}

// seriesBytes is what a series takes beside its values and labels.
const seriesBytes = 80

// keep charges what a part of the query has made, and gives back what its arguments took. It
// counts what series share with those of arguments, too, as these are given back.
func (e *evaluator) keep(r *Result, arguments ...Result) error {
	if e.charge == nil {
		return nil
	}
	bytes := e.bytes(len(r.Series))
	if err := e.charge(bytes); err != nil {
		return err
	}
	r.charged += bytes
	for _, a := range arguments {
		if err := e.charge(-a.charged); err != nil {
			return err
		}
	}
	return nil
}

// take charges bytes that r has beside its series.
func (e *evaluator) take(r *Result, bytes int64) error {
	if e.charge == nil {
		return nil
	}
	r.charged += bytes
	return e.charge(bytes)
}

// bytes returns what so many series take.
func (e *evaluator) bytes(series int) int64 {
	return int64(series) * int64(8*e.n+e.n/8+seriesBytes)
}

// fits returns the error of a result that has too many series, before there are more of them:
// a part that pairs series may make many more than its arguments have.
func (e *evaluator) fits(x syntax.MetricExpr, series int) error {
	if n := int64(series); e.limit > 0 && n > e.limit {
		return &LimitError{Limit: e.limit, Series: n, Expr: x}
	}
	return e.room(e.bytes(series))
}

// room returns the error of charge if a part of the query may not take so many bytes more,
// before it takes them.
func (e *evaluator) room(bytes int64) error {
	if e.charge == nil {
		return nil
	}
	if err := e.charge(bytes); err != nil {
		return err
	}
	return e.charge(-bytes)
}

// hasBytes returns what so many series take that share their values with others.
func (e *evaluator) hasBytes(series int) int64 { return int64(series) * int64(e.n/8+seriesBytes) }

// checkWork is how many values are computed between two looks at the context: about a
// millisecond.
const checkWork = 1 << 16

// work counts n values that are about to be computed. Its error is that of the context.
func (e *evaluator) work(n int) error {
	if e.done += n + 1; e.done < checkWork {
		return nil
	}
	e.done = 0
	return e.ctx.Err()
}

// sort orders series by compare. Its error is that of the context.
func (e *evaluator) sort(series []Series, compare func(a, b Series) int) error {
	var err error
	slices.SortFunc(series, func(a, b Series) int {
		if err == nil {
			err = e.work(0)
		}
		if err != nil {
			return 0 // the order does not matter any more
		}
		return compare(a, b)
	})
	return err
}

func byLabels(a, b Series) int { return CompareLabels(a.Labels, b.Labels) }

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
		return e.constant(x.Value, true)
	case *syntax.Vector:
		return e.constant(x.Value, false)
	case *syntax.RangeAggregation:
		s, err := e.leaf(x)
		return Result{Series: s}, err
	case *syntax.VectorAggregation:
		inner, err := e.eval(x.Inner)
		if err != nil {
			return Result{}, err
		}
		r, err := e.aggregate(x, inner)
		if err == nil {
			err = e.keep(&r, inner)
		}
		return r, err
	case *syntax.Binary:
		return e.binary(x)
	case *syntax.LabelReplace:
		inner, err := e.eval(x.Inner)
		if err != nil {
			return Result{}, err
		}
		r, err := e.labelReplace(x, inner)
		if err == nil {
			err = e.keep(&r, inner)
		}
		return r, err
	}
	return Result{}, fmt.Errorf("logql: %s: %T is not an expression that has numbers", expr, expr)
}

// constant returns a series without labels that is v at each step.
func (e *evaluator) constant(v float64, scalar bool) (Result, error) {
	if err := e.room(e.bytes(1)); err != nil {
		return Result{}, err
	}
	s := NewSeries(nil, e.n)
	for i := range s.Values {
		s.Values[i] = v
		s.Has[i>>6] |= 1 << (i & 63)
	}
	r := Result{Scalar: scalar, Series: []Series{s}}
	return r, e.keep(&r)
}
