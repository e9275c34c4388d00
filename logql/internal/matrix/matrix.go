// Package matrix computes with series of numbers: one value or none for each step.
package matrix

import (
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
func (s Steps) Count() int { return 0 }

// A Label is a name and its value.
type Label struct{ Name, Value string }

// A Series is the values of one set of labels, one for each step. Has tells which
// steps have a value.
type Series struct {
	Labels []Label // ordered by name
	Values []float64
	Has    []uint64 // bit i of word i/64 is set if step i has a value
}

// A Result is the value of a metric expression: a scalar, or series.
type Result struct {
	Scalar bool // one series without labels
	Series []Series
	// Sorted tells that the order of Series means something (sort, topk of an instant query).
	Sorted bool
}

// Evaluate computes expr. Range aggregations, the leaves, are computed by leaf.
func Evaluate(expr syntax.MetricExpr, steps Steps, leaf func(*syntax.RangeAggregation) ([]Series, error), limit int64) (Result, error) {
	return Result{}, nil
}
