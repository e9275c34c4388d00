package randquery

import (
	"maps"
	"slices"
	"time"

	"github.com/stele-go/stele/logql/syntax"
)

func sortedKeys(m map[string][]string) []string { return slices.Sorted(maps.Keys(m)) }

// Metric returns a query of numbers.
func (g *Generator) Metric() syntax.MetricExpr {
	e := g.metric(3)
	if g.chance(10) {
		a := &syntax.VectorAggregation{Op: pick(g, syntax.TopK, syntax.BottomK), K: 1 + g.rng.IntN(3), Inner: e}
		if g.chance(30) {
			a.Grouping = g.grouping()
		}
		if _, number := e.(*syntax.Literal); !number {
			return a
		}
	}
	return e
}

func (g *Generator) metric(depth int) syntax.MetricExpr {
	choice := g.rng.IntN(20)
	if depth == 0 {
		choice = 0
	}
	switch {
	case choice < 6:
		return g.rangeAggregation()
	case choice < 12:
		return g.aggregation(g.series(depth - 1))
	case choice < 14:
		return &syntax.LabelReplace{Inner: g.series(depth - 1), To: "copy", Replacement: pick(g, "$1", "x$1y", "new", ""), From: g.label(), Regexp: pick(g, "(.*)", "(.).*", "(a.*)", "(.+)")}
	case choice < 15:
		return &syntax.Vector{Value: float64(g.rng.IntN(5))}
	}
	return g.binary(depth)
}

// series is an expression that is no number.
func (g *Generator) series(depth int) syntax.MetricExpr {
	for {
		if e := g.metric(depth); !isNumber(e) {
			return e
		}
	}
}

func isNumber(e syntax.MetricExpr) bool { _, ok := e.(*syntax.Literal); return ok }

func (g *Generator) grouping() *syntax.Grouping {
	group := &syntax.Grouping{Without: g.chance(30), Labels: []string{}}
	for range 1 + g.rng.IntN(2) {
		if name := g.label(); !slices.Contains(group.Labels, name) {
			group.Labels = append(group.Labels, name)
		}
	}
	return group
}

func (g *Generator) aggregation(inner syntax.MetricExpr) syntax.MetricExpr {
	a := &syntax.VectorAggregation{Op: pick(g, syntax.Sum, syntax.Sum, syntax.Sum, syntax.Avg, syntax.Min, syntax.Max, syntax.Count, syntax.Stddev, syntax.Stdvar, syntax.Sort, syntax.SortDesc), Inner: inner}
	if g.chance(70) && a.Op < syntax.TopK {
		a.Grouping = g.grouping()
	}
	return a
}

// binary joins two expressions; mostly sums by the same labels, so that they match.
func (g *Generator) binary(depth int) syntax.MetricExpr {
	b := &syntax.Binary{Op: syntax.BinaryOp(g.rng.IntN(int(syntax.OpLessOrEqual) + 1))}
	if b.Op == syntax.OpMod { // the last bit of a sum may decide
		b.Op = syntax.OpMul
	}
	b.Bool = b.Op.Comparison() && g.chance(40)
	if !b.Op.Set() && g.chance(40) {
		b.Left, b.Right = g.series(depth-1), &syntax.Literal{Value: pick(g, 0, 1, 2, 5, 0.5)}
		if g.chance(40) {
			b.Left, b.Right = b.Right, b.Left
		}
		return b
	}
	if g.chance(25) {
		b.Left, b.Right = g.series(depth-1), g.series(depth-1)
	} else {
		by := g.grouping()
		b.Left = &syntax.VectorAggregation{Op: syntax.Sum, Grouping: by, Inner: g.series(depth - 1)}
		b.Right = &syntax.VectorAggregation{Op: syntax.Max, Grouping: by, Inner: g.series(depth - 1)}
	}
	if g.chance(30) {
		b.Matching = &syntax.Matching{On: g.chance(70), Labels: g.grouping().Labels}
		if !b.Op.Set() {
			b.Matching.Group = pick(g, syntax.OneToOne, syntax.GroupLeft, syntax.GroupRight)
			if b.Matching.Group != syntax.OneToOne && g.chance(30) {
				b.Matching.Include = []string{g.label()}
			}
		}
	}
	return b
}

func (g *Generator) rangeAggregation() syntax.MetricExpr {
	a := &syntax.RangeAggregation{Log: g.Log(), Interval: g.duration()}
	if g.chance(20) {
		a.Offset = pick(g, time.Minute, -2*time.Minute, 10*time.Minute)
	}
	if g.chance(25) { // what the store counts without reading lines
		a.Log.Stages = nil
	}
	noError := &syntax.LabelFilter{Predicate: &syntax.TextPredicate{Matcher: syntax.Matcher{Name: "__error__", Op: syntax.Equal}}}
	if g.chance(50) {
		a.Op = pick(g, syntax.CountOverTime, syntax.Rate, syntax.BytesOverTime, syntax.BytesRate, syntax.AbsentOverTime)
		if len(a.Log.Stages) > 0 {
			a.Log.Stages = append(a.Log.Stages, noError)
		}
		return a
	}
	a.Op = pick(g, syntax.Rate, syntax.SumOverTime, syntax.AvgOverTime, syntax.MinOverTime, syntax.MaxOverTime, syntax.StddevOverTime,
		syntax.StdvarOverTime, syntax.QuantileOverTime, syntax.FirstOverTime, syntax.LastOverTime)
	if a.Op == syntax.QuantileOverTime {
		a.Quantile = pick(g, 0, 0.5, 0.9, 0.99, 1)
	}
	parser := pick[syntax.Stage](g, &syntax.JSON{}, &syntax.Logfmt{})
	a.Log.Stages = append([]syntax.Stage{parser}, a.Log.Stages[:min(2, len(a.Log.Stages))]...)
	a.Unwrap = &syntax.Unwrap{Label: pick(g, g.vocabulary.Numbers...), Filters: []*syntax.LabelFilter{noError}}
	if g.chance(15) {
		a.Unwrap.Label, a.Unwrap.Conversion = pick(g, g.vocabulary.Fields...), pick(g, syntax.ConvertDuration, syntax.ConvertBytes)
	}
	if g.chance(20) {
		a.Unwrap.Filters = append(a.Unwrap.Filters, &syntax.LabelFilter{Predicate: &syntax.TextPredicate{Matcher: g.matcher(pick(g, g.labels...))}})
	}
	if a.Op.Groups() && g.chance(50) {
		a.Grouping = g.grouping()
		if g.chance(20) && !slices.Contains(a.Grouping.Labels, a.Unwrap.Label) {
			a.Grouping.Labels = append(a.Grouping.Labels, a.Unwrap.Label)
		}
	}
	return a
}
