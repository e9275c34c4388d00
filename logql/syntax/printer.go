package syntax

import (
	"math"
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
type printer struct {
	text []byte
	// loki makes the blanks, commas and parentheses those of Loki: see Format.
	loki bool
}

// String returns the matcher as a query writes it: app="api".
func (m Matcher) String() string {
	var p printer
	p.matcher(m)
	return string(p.text)
}

// String returns the grouping as a query writes it: by (app).
func (g *Grouping) String() string {
	var p printer
	p.grouping(g)
	return string(p.text)
}

// String returns the matching as a query writes it: on (app) group_left ().
func (m *Matching) String() string {
	var p printer
	p.matching(m)
	return string(p.text)
}

// String returns the unwrap as a query writes it: | unwrap bytes(size).
func (u *Unwrap) String() string {
	var p printer
	p.unwrap(u)
	return string(p.text)
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
	return string(p.text)
}

func (p *printer) add(parts ...string) {
	for _, s := range parts {
		p.text = append(p.text, s...)
	}
}

func (p *printer) quote(s string) { p.text = strconv.AppendQuote(p.text, s) }

// number writes a number so that it is read as the same one.
func (p *printer) number(v float64) {
	p.text = strconv.AppendFloat(p.text, v, 'g', -1, 64)
}

// comma separates members of a list.
func (p *printer) comma() {
	if p.loki {
		p.add(",")
	} else {
		p.add(", ")
	}
}

func (p *printer) matcher(m Matcher) {
	p.add(m.Name, m.Op.String())
	p.quote(m.Value)
}

func (p *printer) names(names []string) {
	p.add("(")
	for i, name := range names {
		if i > 0 {
			p.comma()
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
	switch m.Group {
	case OneToOne:
		return
	case GroupLeft:
		p.add(" group_left")
	default:
		p.add(" group_right")
	}
	if !p.loki || len(m.Include) > 0 {
		p.add(" ")
		p.names(m.Include)
	}
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
		if p.add("("); n.Op.counts() {
			p.add(strconv.Itoa(n.K))
			p.comma()
		}
		p.expr(n.Inner)
		p.add(")")
	case *Binary:
		p.binary(n)
	case *Literal:
		p.literal(n.Value)
	case *Vector:
		p.vector(n)
	case *LabelReplace:
		p.add("label_replace(")
		p.expr(n.Inner)
		for _, s := range n.texts() {
			p.comma()
			p.quote(s)
		}
		p.add(")")
	}
}

// texts are the arguments behind the first.
func (n *LabelReplace) texts() []string {
	return []string{n.To, n.Replacement, n.From, n.Regexp}
}

// literal writes a number. The parser has made infinite ones of others, and no number too.
func (p *printer) literal(v float64) {
	switch {
	case math.IsNaN(v):
		p.add("(0 / 0)")
	case math.IsInf(v, 1):
		p.add("(1e+308 * 10)")
	case math.IsInf(v, -1):
		p.add("(-1e+308 * 10)")
	default:
		p.number(v)
	}
}

func (p *printer) vector(n *Vector) {
	p.add("vector(")
	if long := strconv.FormatFloat(n.Value, 'f', 6, 64); p.loki && readsAs(long, n.Value) {
		p.add(long)
	} else {
		p.number(n.Value)
	}
	p.add(")")
}

func readsAs(text string, v float64) bool {
	read, err := strconv.ParseFloat(text, 64)
	return err == nil && read == v
}

func (p *printer) rangeAggregation(n *RangeAggregation) {
	p.add(n.Op.String(), "(")
	if n.Op == QuantileOverTime {
		p.number(n.Quantile)
		p.comma()
	}
	p.log(n.Log)
	if n.Unwrap != nil {
		p.add(" ")
		p.unwrap(n.Unwrap)
	}
	if !p.loki && (len(n.Log.Stages) > 0 || n.Unwrap != nil) {
		p.add(" ")
	}
	p.interval(n)
	p.add(")")
	if n.Grouping != nil {
		p.add(" ")
		p.grouping(n.Grouping)
	}
}

func (p *printer) interval(n *RangeAggregation) {
	p.add("[", FormatDuration(n.Interval), "]")
	if n.Offset != 0 {
		p.add(" offset ", FormatDuration(n.Offset))
	}
}

// vectorHead writes what is before the parenthesis.
func (p *printer) vectorHead(n *VectorAggregation) {
	p.add(n.Op.String())
	if n.Grouping == nil || p.loki && !n.Grouping.Without && len(n.Grouping.Labels) == 0 {
		return
	}
	p.add(" ")
	p.grouping(n.Grouping)
	if !p.loki {
		p.add(" ")
	}
}

// counts reports whether the first argument is how many series are wanted.
func (op VectorOp) counts() bool { return op == TopK || op == BottomK || op == ApproxTopK }

// binary writes sides in parentheses only where the tree would be another one without.
func (p *printer) binary(n *Binary) {
	if p.loki {
		p.add("(")
		p.expr(n.Left)
		p.add(" ")
		p.operator(n)
		p.add(" ")
		p.expr(n.Right)
		p.add(")")
		return
	}
	strength := binaryOps[n.Op.String()].strength
	p.side(n.Left, strength, n.Op == OpPow)
	p.add(" ")
	p.operator(n)
	p.add(" ")
	p.side(n.Right, strength, n.Op != OpPow)
}

// operator writes the operator of n with what belongs to it.
func (p *printer) operator(n *Binary) {
	p.add(n.Op.String())
	if n.Bool {
		p.add(" bool")
	}
	if n.Matching != nil {
		p.add(" ")
		p.matching(n.Matching)
	}
}

func (p *printer) side(e MetricExpr, strength int, orEqual bool) {
	if !parenthesised(e, strength, orEqual) {
		p.expr(e)
		return
	}
	p.add("(")
	p.expr(e)
	p.add(")")
}

// parenthesised reports whether a side of an operator needs parentheses.
func parenthesised(e MetricExpr, strength int, orEqual bool) bool {
	b, ok := e.(*Binary)
	if !ok {
		return false
	}
	inner := binaryOps[b.Op.String()].strength
	return inner < strength || inner == strength && orEqual
}

// FormatNumber writes a number as queries do: 0.5, 1e+30.
func FormatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
