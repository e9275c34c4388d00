// Package matrix computes with series of numbers: one value or none for each step.
//
// A series is a column: its values lie one behind the other, and a bitmap tells which
// steps have one. Operators work on whole columns, so what is allocated is a few
// slices a series of the result, whatever the number of steps.
package matrix

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/logql/syntax"
)

// Steps are the moments at which a query has a value: Start, Start+Step, ... up to End, in
// nanoseconds since the Unix epoch. An instant query has one.
type Steps struct {
	Start, End int64
	Step       time.Duration // above 0, unless Start == End
}

// Count returns the number of moments.
func (s Steps) Count() int {
	if s.End < s.Start {
		return 0
	}
	if s.Step <= 0 {
		return 1
	}
	return int((s.End-s.Start)/int64(s.Step)) + 1
}

// At returns moment i.
func (s Steps) At(i int) int64 { return s.Start + int64(i)*int64(s.Step) }

// A Label is a name and its value.
type Label struct{ Name, Value string }

// A Series is the values of one set of labels, one for each step. Has tells which
// steps have a value; the values of the others mean nothing.
type Series struct {
	Labels []Label // ordered by name
	Values []float64
	Has    []uint64 // bit i of word i/64 is set if step i has a value
}

// NewSeries returns a series without values.
func NewSeries(labels []Label, steps int) Series {
	return Series{Labels: labels, Values: make([]float64, steps), Has: make([]uint64, (steps+63)/64)}
}

// Set gives step i a value.
func (s *Series) Set(i int, value float64) {
	s.Values[i] = value
	s.Has[i>>6] |= 1 << (i & 63)
}

// HasValue reports whether step i has a value.
func (s *Series) HasValue(i int) bool { return s.Has[i>>6]>>(i&63)&1 == 1 }

// Len returns the number of steps that have a value.
func (s *Series) Len() int {
	n := 0
	for _, word := range s.Has {
		n += bits.OnesCount64(word)
	}
	return n
}

// Empty reports whether no step has a value.
func (s *Series) Empty() bool {
	for _, word := range s.Has {
		if word != 0 {
			return false
		}
	}
	return true
}

// each calls f with each step that has a value, in order.
func (s *Series) each(f func(step int)) {
	for w, word := range s.Has {
		for ; word != 0; word &= word - 1 {
			f(w<<6 + bits.TrailingZeros64(word))
		}
	}
}

// A Result is the value of a metric expression: a scalar, or series.
type Result struct {
	Scalar bool // one series without labels
	Series []Series
	// Sorted tells that the order of Series means something (sort, topk of an instant query).
	Sorted bool

	charged int64 // bytes, while the part of the query is computed that this is an argument of
}

// A LimitError reports more series than a query may have.
type LimitError struct {
	Limit  int64
	Series int64       // as many there are at least
	Expr   syntax.Node // the part of the query that has them
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("logql: %s: at least %d series; want at most %d: select fewer lines, or aggregate by fewer labels",
		e.Expr, e.Series, e.Limit)
}

// String writes labels as queries do.
func formatLabels(labels []Label) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, l := range labels {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s=%q", l.Name, l.Value)
	}
	b.WriteByte('}')
	return b.String()
}

// CompareLabels orders sets of labels by the first name, its value, the second name, and
// so on; where one of them ends, it comes first.
func CompareLabels(a, b []Label) int {
	return slices.CompareFunc(a, b, func(x, y Label) int {
		if c := strings.Compare(x.Name, y.Name); c != 0 {
			return c
		}
		return strings.Compare(x.Value, y.Value)
	})
}

// label returns the value of a label, "" if it is missing.
func label(labels []Label, name string) string {
	for _, l := range labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// Evaluate computes expr. Range aggregations, the leaves, are computed by leaf, whose
// series Evaluate does not change, though the result may share them. Each part of the
// query may have limit series, else the error is a *LimitError; 0 means no limit. Other
// errors are those of leaf and of ctx, and *MatchError. charge, unless nil, counts the bytes
// of the series between operators, below 0 once they are not needed any more; its error is
// that of Evaluate.
func Evaluate(ctx context.Context, expr syntax.MetricExpr, steps Steps, leaf func(*syntax.RangeAggregation) ([]Series, error), limit int64, charge func(bytes int64) error) (Result, error) {
	e := evaluator{ctx: ctx, n: steps.Count(), leaf: leaf, limit: limit, charge: charge}
	r, err := e.eval(expr)
	if err != nil {
		return Result{}, err
	}
	if !r.Sorted {
		r.Series = slices.Clone(r.Series)
		if err := e.sort(r.Series, byLabels); err != nil {
			return Result{}, err
		}
	}
	return r, nil
}
