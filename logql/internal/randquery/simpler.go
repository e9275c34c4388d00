package randquery

import (
	"iter"
	"slices"

	"github.com/stele-go/stele/logql/syntax"
)

// Simpler yields queries that are a little simpler than e, the simplest first. Each is one that
// syntax.Parse accepts.
func Simpler(e syntax.Expr) iter.Seq[syntax.Expr] {
	return func(yield func(syntax.Expr) bool) {
		for _, c := range candidates(e) {
			parsed, err := syntax.Parse(c.String())
			if err == nil && parsed.String() != e.String() && !yield(parsed) {
				return
			}
		}
	}
}

func candidates(e syntax.Expr) (list []syntax.Expr) {
	switch n := e.(type) {
	case *syntax.LogExpr:
		for _, log := range logs(n) {
			list = append(list, log)
		}
	case *syntax.RangeAggregation:
		list = ranges(n)
	case *syntax.VectorAggregation:
		list = append(list, n.Inner)
		if n.Grouping != nil {
			c := *n
			c.Grouping = nil
			list = append(list, &c)
		}
		list = append(list, within(n.Inner, func(inner syntax.MetricExpr) syntax.Expr { c := *n; c.Inner = inner; return &c })...)
	case *syntax.LabelReplace:
		list = append(list, n.Inner)
		list = append(list, within(n.Inner, func(inner syntax.MetricExpr) syntax.Expr { c := *n; c.Inner = inner; return &c })...)
	case *syntax.Binary:
		list = append(list, n.Left, n.Right)
		if n.Matching != nil {
			c := *n
			c.Matching = nil
			list = append(list, &c)
		}
		list = append(list, within(n.Left, func(side syntax.MetricExpr) syntax.Expr { c := *n; c.Left = side; return &c })...)
		list = append(list, within(n.Right, func(side syntax.MetricExpr) syntax.Expr { c := *n; c.Right = side; return &c })...)
	}
	return list
}

// within replaces a part of an expression by simpler ones.
func within(part syntax.MetricExpr, whole func(syntax.MetricExpr) syntax.Expr) (list []syntax.Expr) {
	for _, c := range candidates(part) {
		if m, ok := c.(syntax.MetricExpr); ok {
			list = append(list, whole(m))
		}
	}
	return list
}

// logs returns n without one of its stages or matchers, or with a simpler stage.
func logs(n *syntax.LogExpr) (list []*syntax.LogExpr) {
	for i := range n.Stages {
		c := *n
		c.Stages = slices.Delete(slices.Clone(n.Stages), i, i+1)
		list = append(list, &c)
	}
	for i := range n.Matchers {
		c := *n
		c.Matchers = slices.Delete(slices.Clone(n.Matchers), i, i+1)
		list = append(list, &c)
	}
	for i, stage := range n.Stages {
		for _, s := range stages(stage) {
			c := *n
			c.Stages = slices.Clone(n.Stages)
			c.Stages[i] = s
			list = append(list, &c)
		}
	}
	return list
}

func stages(s syntax.Stage) (list []syntax.Stage) {
	switch n := s.(type) {
	case *syntax.LabelFilter:
		switch p := n.Predicate.(type) {
		case *syntax.And:
			list = append(list, &syntax.LabelFilter{Predicate: p.Left}, &syntax.LabelFilter{Predicate: p.Right})
		case *syntax.Or:
			list = append(list, &syntax.LabelFilter{Predicate: p.Left}, &syntax.LabelFilter{Predicate: p.Right})
		}
	case *syntax.LineFilter:
		if len(n.Texts) > 1 {
			list = append(list, &syntax.LineFilter{Op: n.Op, Texts: n.Texts[:1]}, &syntax.LineFilter{Op: n.Op, Texts: n.Texts[1:]})
		}
	case *syntax.Drop:
		if len(n.Labels) > 1 {
			list = append(list, &syntax.Drop{Labels: n.Labels[:1]}, &syntax.Drop{Labels: n.Labels[1:]})
		}
	case *syntax.Keep:
		if len(n.Labels) > 1 {
			list = append(list, &syntax.Keep{Labels: n.Labels[:1]}, &syntax.Keep{Labels: n.Labels[1:]})
		}
	}
	return list
}

func ranges(n *syntax.RangeAggregation) (list []syntax.Expr) {
	if n.Unwrap == nil && n.Op != syntax.CountOverTime {
		c := *n
		c.Op = syntax.CountOverTime
		list = append(list, &c)
	}
	if n.Unwrap != nil && n.Op != syntax.SumOverTime {
		c := *n
		c.Op, c.Grouping = syntax.SumOverTime, nil
		list = append(list, &c)
	}
	if n.Offset != 0 {
		c := *n
		c.Offset = 0
		list = append(list, &c)
	}
	if n.Grouping != nil {
		c := *n
		c.Grouping = nil
		list = append(list, &c)
	}
	for _, log := range logs(n.Log) {
		c := *n
		c.Log = log
		list = append(list, &c)
	}
	return list
}
