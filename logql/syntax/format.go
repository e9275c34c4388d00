package syntax

import (
	"strconv"
	"strings"
)

// formatWidth is up to how many characters Format leaves an expression in one line.
const formatWidth = 100

// Format writes a query as Loki's /format_query does: in one line if it is short, else with
// each part in lines of its own, more indented the deeper it is. Values stay as they are
// where Loki rounds them, and parentheses stay where the query would be another one without: the
// result parses to the same tree.
func Format(e Expr) string {
	f := formatter{widths: map[Expr]int{}}
	f.measure(e)
	f.expr(e, 0)
	return string(f.text)
}

type formatter struct {
	text   []byte
	widths map[Expr]int // of what was measured, in one line; more than formatWidth is enough to know
}

// measure notes how wide each expression below e is in one line.
func (f *formatter) measure(e Expr) int {
	width := 0
	switch n := e.(type) {
	case *VectorAggregation:
		p := printer{loki: true}
		p.vectorHead(n)
		width = len(p.text) + 2 + f.measure(n.Inner)
		if n.Op.counts() {
			width += len(strconv.Itoa(n.K)) + 1
		}
	case *Binary:
		p := printer{loki: true}
		p.operator(n)
		width = len(p.text) + 4 + f.measure(n.Left) + f.measure(n.Right)
	case *LabelReplace:
		width = len("label_replace()") + f.measure(n.Inner)
		for _, s := range n.texts() {
			width += 1 + len(strconv.Quote(s))
		}
	default:
		width = len(oneLine(e))
		if n, ok := e.(*RangeAggregation); ok {
			f.widths[n.Log] = len(oneLine(n.Log))
		}
	}
	f.widths[e] = width
	return width
}

// oneLine writes a query as Loki does, in one line.
func oneLine(e Expr) string {
	p := printer{loki: true}
	p.expr(e)
	return string(p.text)
}

func (f *formatter) add(s string) { f.text = append(f.text, s...) }

// line begins a line.
func (f *formatter) line(level int) {
	if len(f.text) > 0 && f.text[len(f.text)-1] != '\n' {
		f.add("\n")
	}
	f.add(strings.Repeat("  ", min(level, maxDepth)))
}

// expr writes an expression in lines of its own.
func (f *formatter) expr(e Expr, level int) {
	if f.widths[e] <= formatWidth {
		f.line(level)
		f.add(oneLine(e))
		return
	}
	switch n := e.(type) {
	case *LogExpr:
		f.log(n, level)
	case *RangeAggregation:
		f.rangeAggregation(n, level)
	case *VectorAggregation:
		f.line(level)
		f.add(n.Op.String())
		if g := n.Grouping; g != nil && (g.Without || len(g.Labels) > 0) {
			f.add(" " + g.String())
		}
		f.add("(")
		if n.Op.counts() {
			f.line(level + 1)
			f.add(strconv.Itoa(n.K) + ",")
		}
		f.expr(n.Inner, level+1)
		f.line(level)
		f.add(")")
	case *Binary:
		f.binary(n, level)
	case *LabelReplace:
		f.line(level)
		f.add("label_replace(")
		f.expr(n.Inner, level+1)
		for _, s := range n.texts() {
			f.add(",")
			f.line(level + 1)
			f.add(strconv.Quote(s))
		}
		f.line(level)
		f.add(")")
	default:
		f.line(level)
		f.add(oneLine(e))
	}
}

// log writes a selector, then its stages in lines of their own; line filters that follow
// each other have one together.
func (f *formatter) log(n *LogExpr, level int) {
	f.line(level)
	p := printer{loki: true}
	p.selector(n.Matchers)
	f.add(string(p.text))
	before := false
	for _, s := range n.Stages {
		_, filter := s.(*LineFilter)
		if filter && before {
			f.add(" ")
		} else {
			f.line(level + 1)
		}
		before = filter
		f.stage(s)
	}
}

func (f *formatter) stage(s Stage) {
	p := printer{loki: true}
	p.stage(s)
	f.add(string(p.text))
}

func (f *formatter) rangeAggregation(n *RangeAggregation, level int) {
	f.line(level)
	f.add(n.Op.String() + "(")
	if n.Op == QuantileOverTime {
		f.line(level + 1)
		f.add(FormatNumber(n.Quantile) + ",")
	}
	f.expr(n.Log, level+1)
	if u := n.Unwrap; u != nil {
		f.line(level + 2)
		bare := *u
		bare.Filters = nil
		f.add(bare.String())
		for _, filter := range u.Filters {
			f.line(level + 2)
			f.stage(filter)
		}
	}
	p := printer{}
	p.interval(n)
	f.add(" " + string(p.text))
	f.line(level)
	f.add(")")
	if n.Grouping != nil {
		f.add(" " + n.Grouping.String())
	}
}

// binary writes the sides deeper than the operator.
func (f *formatter) binary(n *Binary, level int) {
	strength := binaryOps[n.Op.String()].strength
	f.side(n.Left, level+1, parenthesised(n.Left, strength, n.Op == OpPow))
	f.line(level)
	p := printer{}
	p.operator(n)
	f.add(string(p.text))
	f.side(n.Right, level+1, parenthesised(n.Right, strength, n.Op != OpPow))
}

// side writes a side of an operator. In one line it has parentheses already.
func (f *formatter) side(e MetricExpr, level int, parentheses bool) {
	if !parentheses || f.widths[e] <= formatWidth {
		f.expr(e, level)
		return
	}
	f.line(level)
	f.add("(")
	f.expr(e, level+1)
	f.line(level)
	f.add(")")
}
