package logql

import (
	"fmt"

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
	result := x.values(value, steps)
	result.Warnings = x.warnings
	return result, nil
}

// values makes the result of a value.
func (x *execution) values(value matrix.Result, steps matrix.Steps) *Result {
	result := &Result{Kind: Matrix}
	switch {
	case x.r.Instant && value.Scalar:
		result.Kind = Scalar
	case x.r.Instant:
		result.Kind = Vector
	}
	for _, s := range value.Series {
		row := Series{}
		for _, l := range s.Labels {
			row.Labels = append(row.Labels, LabelPair(l))
		}
		for i, v := range s.Values {
			if s.Has[i/64]>>(i%64)&1 == 1 {
				row.Points = append(row.Points, Point{steps.Start + int64(i)*int64(steps.Step), v})
			}
		}
		if len(row.Points) > 0 {
			result.Series = append(result.Series, row)
		}
	}
	return result
}
