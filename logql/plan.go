package logql

import (
	"fmt"
	"slices"

	"github.com/stele-go/stele/logql/syntax"
)

// A metricPlan is a metric expression as it is computed: a leaf that is there twice is one
// node, and what an aggregation adds up is added up in the leaf below it.
type metricPlan struct {
	expr  syntax.MetricExpr
	byKey map[string]*syntax.RangeAggregation
	uses  map[*syntax.RangeAggregation]int
	from  map[*syntax.RangeAggregation]string // the aggregation whose grouping the leaf got
	nodes map[*syntax.RangeAggregation]*PlanNode
}

func newMetricPlan(expr syntax.MetricExpr) *metricPlan {
	p := &metricPlan{
		byKey: map[string]*syntax.RangeAggregation{},
		uses:  map[*syntax.RangeAggregation]int{},
		from:  map[*syntax.RangeAggregation]string{},
		nodes: map[*syntax.RangeAggregation]*PlanNode{},
	}
	p.expr = p.rewrite(expr)
	return p
}

// rewrite returns a copy of a tree with its leaves planned.
func (p *metricPlan) rewrite(expr syntax.MetricExpr) syntax.MetricExpr {
	switch e := expr.(type) {
	case *syntax.RangeAggregation:
		return p.leaf(e, nil)
	case *syntax.VectorAggregation:
		c := *e
		if leaf, ok := e.Inner.(*syntax.RangeAggregation); ok && addsUp(e.Op, e.Grouping, leaf) {
			c.Inner = p.leaf(leaf, e)
		} else {
			c.Inner = p.rewrite(e.Inner)
		}
		return &c
	case *syntax.Binary:
		c := *e
		c.Left, c.Right = p.rewrite(e.Left), p.rewrite(e.Right)
		return &c
	case *syntax.LabelReplace:
		c := *e
		c.Inner = p.rewrite(e.Inner)
		return &c
	}
	return expr
}

// addsUp reports whether an aggregation of the series of a leaf is what the leaf gives for
// the lines of all of them together.
func addsUp(op syntax.VectorOp, g *syntax.Grouping, leaf *syntax.RangeAggregation) bool {
	if leaf.Grouping != nil {
		return false
	}
	switch leaf.Op {
	case syntax.CountOverTime, syntax.Rate, syntax.BytesOverTime, syntax.BytesRate, syntax.SumOverTime:
		return op == syntax.Sum
	case syntax.MinOverTime:
		return op == syntax.Min && !byUnwrapped(g, leaf)
	case syntax.MaxOverTime:
		return op == syntax.Max && !byUnwrapped(g, leaf)
	}
	return false
}

// byUnwrapped reports whether a grouping names the label that is unwrapped. The series of the
// leaf do not have it; only of sum Loki passes the grouping on to the lines, which do.
func byUnwrapped(g *syntax.Grouping, leaf *syntax.RangeAggregation) bool {
	return g != nil && !g.Without && leaf.Unwrap != nil && slices.Contains(g.Labels, leaf.Unwrap.Label)
}

// leaf returns the node of a leaf, with the grouping of the aggregation over it, unless
// that is nil.
func (p *metricPlan) leaf(e *syntax.RangeAggregation, over *syntax.VectorAggregation) *syntax.RangeAggregation {
	key := e.String()
	c := *e
	if over != nil {
		c.Grouping = &syntax.Grouping{}
		if g := over.Grouping; g != nil {
			c.Grouping.Without, c.Grouping.Labels = g.Without, g.Labels
		}
		labels := slices.Clone(c.Grouping.Labels)
		slices.Sort(labels)
		key = fmt.Sprintf("%s %v %q", key, c.Grouping.Without, labels)
	}
	if known := p.byKey[key]; known != nil {
		p.uses[known]++
		return known
	}
	p.byKey[key] = &c
	p.uses[&c] = 1
	if over != nil {
		p.from[&c] = c.Grouping.String()
	}
	return &c
}

// describe makes the nodes of the plan.
func (p *metricPlan) describe(expr syntax.MetricExpr) *PlanNode {
	switch e := expr.(type) {
	case *syntax.RangeAggregation:
		return p.describeLeaf(e)
	case *syntax.VectorAggregation:
		n := &PlanNode{Name: "aggregate", Query: vectorText(e)}
		n.child(p.describe(e.Inner))
		return n
	case *syntax.Binary:
		n := &PlanNode{Name: "join", Query: e.Op.String()}
		n.child(p.describe(e.Left))
		n.child(p.describe(e.Right))
		return n
	case *syntax.LabelReplace:
		n := &PlanNode{Name: "label_replace", Query: e.To}
		n.child(p.describe(e.Inner))
		return n
	}
	return &PlanNode{Name: "number", Query: expr.String()}
}

func (p *metricPlan) describeLeaf(e *syntax.RangeAggregation) *PlanNode {
	shown := *e
	from, summed := p.from[e]
	if summed {
		shown.Grouping = nil
	}
	n := &PlanNode{Name: "range", Query: shown.String()}
	switch {
	case p.nodes[e] != nil:
		n.note("the same as above, computed once")
		return n
	case summed:
		n.note("lines are summed up %s at once, as the aggregation over it asks", from)
	}
	p.nodes[e] = n
	return n
}

// vectorText is an aggregation without what it aggregates.
func vectorText(e *syntax.VectorAggregation) string {
	text := e.Op.String()
	if e.Grouping != nil {
		text += " " + e.Grouping.String()
	}
	if e.Op == syntax.TopK || e.Op == syntax.BottomK || e.Op == syntax.ApproxTopK {
		text += fmt.Sprintf(" (%d)", e.K)
	}
	return text
}
