package logql

import (
	"fmt"
	"unsafe"

	"github.com/stele-go/stele/logql/internal/matrix"
	"github.com/stele-go/stele/logql/syntax"
)

// metric answers a metric query.
func (x *execution) metric(expr syntax.MetricExpr) (*Result, error) {
	steps, err := x.r.steps(x.limits)
	if err != nil {
		return nil, err
	}
	plan := newMetricPlan(expr)
	x.plan.child(plan.describe(plan.expr))
	var failed error
	leaves := map[*syntax.RangeAggregation][]matrix.Series{}
	value, err := matrix.Evaluate(x.ctx, plan.expr, steps, func(leaf *syntax.RangeAggregation) ([]matrix.Series, error) {
		if known, ok := leaves[leaf]; ok {
			return known, nil
		}
		series, err := x.leaf(leaf, steps, plan.nodes[leaf])
		failed = err
		if err == nil && plan.uses[leaf] > 1 {
			leaves[leaf] = series
		}
		return series, err
	}, int64(x.limits.Parts), x.chargeSeries)
	if err != nil {
		return nil, evaluationError(err, failed)
	}
	if len(value.Series) > x.limits.Series {
		return nil, &LimitError{"Limits.Series", int64(x.limits.Series), fmt.Sprintf("%d series in the result: aggregate by fewer labels, or take the topk", len(value.Series))}
	}
	result, err := x.values(value, steps)
	if err != nil {
		return nil, err
	}
	result.Warnings = x.warnings
	return result, nil
}

// values makes the result of a value.
func (x *execution) values(value matrix.Result, steps matrix.Steps) (*Result, error) {
	result := &Result{Kind: Matrix}
	switch {
	case x.r.Instant && value.Scalar:
		result.Kind = Scalar
	case x.r.Instant:
		result.Kind = Vector
	}
	for _, s := range value.Series {
		n := s.Len()
		if n == 0 {
			continue
		}
		if err := x.charge(int64(n)*pointBytes + groupBytes + int64(len(s.Labels))*labelBytes); err != nil {
			return nil, err
		}
		row := Series{Labels: make([]LabelPair, 0, len(s.Labels)), Points: make([]Point, 0, n)}
		for _, l := range s.Labels {
			row.Labels = append(row.Labels, LabelPair(l))
		}
		for i, v := range s.Values {
			if s.Has[i/64]>>(i%64)&1 == 1 {
				row.Points = append(row.Points, Point{steps.Start + int64(i)*int64(steps.Step), v})
			}
		}
		result.Series = append(result.Series, row)
	}
	return result, nil
}

const pointBytes = int64(unsafe.Sizeof(Point{}))
