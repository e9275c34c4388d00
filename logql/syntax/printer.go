package syntax

import (
	"strconv"
)

// The texts of operators, in the order of their constants.
var (
	matchTexts   = [...]string{"=", "!=", "=~", "!~"}
	lineTexts    = [...]string{"|=", "!=", "|~", "!~", "|>", "!>"}
	compareTexts = [...]string{"==", "!=", "<", "<=", ">", ">="}
	rangeTexts   = [...]string{
		"count_over_time", "rate", "bytes_over_time", "bytes_rate", "absent_over_time", "rate_counter", "sum_over_time",
		"avg_over_time", "min_over_time", "max_over_time", "stddev_over_time", "stdvar_over_time", "quantile_over_time",
		"first_over_time", "last_over_time",
	}
	vectorTexts = [...]string{"sum", "avg", "min", "max", "count", "stddev", "stdvar", "topk", "bottomk", "sort", "sort_desc", "approx_topk"}
	binaryTexts = [...]string{"or", "and", "unless", "+", "-", "*", "/", "%", "^", "==", "!=", ">", ">=", "<", "<="}

	rangeOps  = byText[RangeOp](rangeTexts[:])
	vectorOps = byText[VectorOp](vectorTexts[:])
)

func byText[T ~uint8](texts []string) map[string]T {
	m := map[string]T{}
	for i, s := range texts {
		m[s] = T(i)
	}
	return m
}

func opText(texts []string, i int) string {
	if i < len(texts) {
		return texts[i]
	}
	return "op(" + strconv.Itoa(i) + ")"
}

func (op MatchOp) String() string   { return opText(matchTexts[:], int(op)) }
func (op LineOp) String() string    { return opText(lineTexts[:], int(op)) }
func (op CompareOp) String() string { return opText(compareTexts[:], int(op)) }
func (op RangeOp) String() string   { return opText(rangeTexts[:], int(op)) }
func (op VectorOp) String() string  { return opText(vectorTexts[:], int(op)) }
func (op BinaryOp) String() string  { return opText(binaryTexts[:], int(op)) }

// A printer writes a tree. It never joins texts that it wrote before, so that it takes
// time in proportion to the result.
type printer []byte

// String returns the matcher as a query writes it: app="api".
func (m Matcher) String() string {
	var p printer
	p.matcher(m)
	return string(p)
}

// String returns the grouping as a query writes it: by (app).
func (g *Grouping) String() string {
	var p printer
	p.grouping(g)
	return string(p)
}

// String returns the matching as a query writes it: on (app) group_left ().
func (m *Matching) String() string {
	var p printer
	p.matching(m)
	return string(p)
}

// String returns the unwrap as a query writes it: | unwrap bytes(size).
func (u *Unwrap) String() string {
	var p printer
	p.unwrap(u)
	return string(p)
}

func (n *LogExpr) String() string           { return exprText(n) }
func (n *RangeAggregation) String() string  { return exprText(n) }
func (n *VectorAggregation) String() string { return exprText(n) }
func (n *Binary) String() string            { return exprText(n) }
func (n *Literal) String() string           { return exprText(n) }
func (n *Vector) String() string            { return exprText(n) }
func (n *LabelReplace) String() string      { return exprText(n) }

func exprText(e Expr) string {
	var p printer
	p.expr(e)
	return string(p)
}

func (p *printer) add(parts ...string) {
	for _, s := range parts {
		*p = append(*p, s...)
	}
}

func (p *printer) quote(s string) { *p = strconv.AppendQuote(*p, s) }

// number writes a number as parseNumber reads it.
func (p *printer) number(v float64) { *p = strconv.AppendFloat(*p, v, 'g', -1, 64) }

func (p *printer) matcher(m Matcher) {
	p.add(m.Name, m.Op.String())
	p.quote(m.Value)
}

func (p *printer) names(names []string) {
	p.add("(")
	for i, name := range names {
		if i > 0 {
			p.add(", ")
		}
		p.add(name)
	}
	p.add(")")
}

func (p *printer) grouping(g *Grouping) {
	if g.Without {
		p.add("without ")
	} else {
		p.add("by ")
	}
	p.names(g.Labels)
}

func (p *printer) matching(m *Matching) {
	if m.On {
		p.add("on ")
	} else {
		p.add("ignoring ")
	}
	p.names(m.Labels)
	if m.Group == OneToOne {
		return
	}
	if m.Group == GroupLeft {
		p.add(" group_left ")
	} else {
		p.add(" group_right ")
	}
	p.names(m.Include)
}

func (p *printer) selector(matchers []Matcher) {
	p.add("{")
	for i, m := range matchers {
		if i > 0 {
			p.add(", ")
		}
		p.matcher(m)
	}
	p.add("}")
}

func (p *printer) log(n *LogExpr) {
	p.selector(n.Matchers)
	for _, s := range n.Stages {
		p.add(" ")
		p.stage(s)
	}
}

func (p *printer) unwrap(u *Unwrap) {
	p.add("| unwrap ")
	switch u.Conversion {
	case ConvertDuration:
		p.add("duration(", u.Label, ")")
	case ConvertBytes:
		p.add("bytes(", u.Label, ")")
	default:
		p.add(u.Label)
	}
	for _, f := range u.Filters {
		p.add(" ")
		p.stage(f)
	}
}

func (p *printer) expr(e Expr) {
	switch n := e.(type) {
	case *LogExpr:
		p.log(n)
	case *RangeAggregation:
		p.rangeAggregation(n)
	case *VectorAggregation:
		p.vectorHead(n)
		p.expr(n.Inner)
		p.add(")")
	case *Binary:
		p.binary(n)
	case *Literal:
		p.number(n.Value)
	case *Vector:
		p.add("vector(")
		p.number(n.Value)
		p.add(")")
	case *LabelReplace:
		p.add("label_replace(")
		p.expr(n.Inner)
		for _, s := range []string{n.To, n.Replacement, n.From, n.Regexp} {
			p.add(", ")
			p.quote(s)
		}
		p.add(")")
	}
}

func (p *printer) rangeAggregation(n *RangeAggregation) {
	p.add(n.Op.String(), "(")
	if n.Op == QuantileOverTime {
		p.number(n.Quantile)
		p.add(", ")
	}
	p.log(n.Log)
	if n.Unwrap != nil {
		p.add(" ")
		p.unwrap(n.Unwrap)
	}
	p.interval(n, len(n.Log.Stages) > 0 || n.Unwrap != nil)
	p.add(")")
	if n.Grouping != nil {
		p.add(" ")
		p.grouping(n.Grouping)
	}
}

func (p *printer) interval(n *RangeAggregation, apart bool) {
	if apart {
		p.add(" ")
	}
	p.add("[", FormatDuration(n.Interval), "]")
	if n.Offset != 0 {
		p.add(" offset ", FormatDuration(n.Offset))
	}
}

func (p *printer) vectorHead(n *VectorAggregation) {
	p.add(n.Op.String())
	if n.Grouping != nil {
		p.add(" ")
		p.grouping(n.Grouping)
		p.add(" ")
	}
	p.add("(")
	if n.Op == TopK || n.Op == BottomK || n.Op == ApproxTopK {
		p.add(strconv.Itoa(n.K), ", ")
	}
}

// binary writes sides in parentheses only where the tree would be another one without.
func (p *printer) binary(n *Binary) {
	strength := binaryOps[n.Op.String()].strength
	p.side(n.Left, strength, n.Op == OpPow)
	p.operator(n)
	p.side(n.Right, strength, n.Op != OpPow)
}

// operator writes the operator of n with what belongs to it, between blanks.
func (p *printer) operator(n *Binary) {
	p.add(" ", n.Op.String(), " ")
	if n.Bool {
		p.add("bool ")
	}
	if n.Matching != nil {
		p.matching(n.Matching)
		p.add(" ")
	}
}

func (p *printer) side(e MetricExpr, strength int, orEqual bool) {
	b, ok := e.(*Binary)
	inner := 0
	if ok {
		inner = binaryOps[b.Op.String()].strength
	}
	if !ok || inner > strength || inner == strength && !orEqual {
		p.expr(e)
		return
	}
	p.add("(")
	p.expr(e)
	p.add(")")
}

// FormatNumber writes a number as queries do: 0.5, 1e+30.
func FormatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Format writes a query as Loki's /format_query does.
func Format(e Expr) string { return e.String() }
