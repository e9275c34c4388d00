package syntax

import (
	"fmt"
	"math"
	"strings"
)

// binaryOps has the strength of each operator that joins numbers.
var binaryOps = map[string]struct {
	op       BinaryOp
	strength int
}{
	"or": {OpOr, 1}, "and": {OpAnd, 2}, "unless": {OpUnless, 2},
	"==": {OpEqual, 3}, "!=": {OpNotEqual, 3}, ">": {OpGreater, 3}, ">=": {OpGreaterOrEqual, 3}, "<": {OpLess, 3}, "<=": {OpLessOrEqual, 3},
	"+": {OpAdd, 4}, "-": {OpSub, 4},
	"*": {OpMul, 5}, "/": {OpDiv, 5}, "%": {OpMod, 5},
	"^": {OpPow, 6},
}

// Set reports whether the operator joins sets of series: or, and, unless.
func (op BinaryOp) Set() bool { return op <= OpUnless }

// Comparison reports whether the operator compares: == != > >= < <=.
func (op BinaryOp) Comparison() bool { return op >= OpEqual }

// expression takes operands that operators above a strength join.
func (p *parser) expression(strength int) (Expr, *Error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	for {
		t := p.peek()
		b, ok := binaryOps[strings.ToLower(t.text)]
		if !ok || t.kind != symbol && t.kind != identifier || b.strength <= strength {
			return left, nil
		}
		m, ok := left.(MetricExpr)
		if !ok {
			return nil, p.wrong(left.Place(), "operator "+t.text+" behind a query of lines", "one of numbers, such as rate(...)")
		}
		if left, err = p.binary(m, b.op, b.strength); err != nil {
			return nil, err
		}
	}
}

// binary takes an operator and its right side.
func (p *parser) binary(left MetricExpr, op BinaryOp, strength int) (Expr, *Error) {
	at := p.take().Range
	if err := p.operator(); err != nil {
		return nil, err
	}
	b := &Binary{Op: op, Left: left}
	if word := p.peek(); p.acceptWord("bool") {
		if b.Bool = true; !op.Comparison() {
			return nil, p.wrong(word.Range, "bool behind "+op.String(), "it behind a comparison only")
		}
	}
	var err *Error
	if b.Matching, err = p.matching(op); err != nil {
		return nil, err
	}
	if op == OpPow { // from right to left
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer p.leave()
		strength--
	}
	if b.Right, err = p.metric(strength); err != nil {
		return nil, err
	}
	b.Range = p.from(left.Place().Start)
	return p.withNumbers(b, at)
}

// withNumbers replaces what joins two numbers by the result. Beside one, on and ignoring mean
// nothing.
func (p *parser) withNumbers(b *Binary, at Range) (Expr, *Error) {
	left, isLeft := b.Left.(*Literal)
	right, isRight := b.Right.(*Literal)
	if !isLeft && !isRight {
		return b, nil
	}
	if b.Op.Set() {
		return nil, p.wrong(at, "operator "+b.Op.String()+" beside a number", "series on both sides; vector(1) makes one")
	}
	if isLeft && isRight {
		return &Literal{b.Range, fold(b.Op, left.Value, right.Value)}, nil
	}
	b.Matching = nil
	return b, nil
}

// fold joins two numbers as Loki does: what is divided by 0 is NaN, and a comparison is 1
// or 0, also without bool.
func fold(op BinaryOp, a, b float64) float64 {
	holds := false
	switch op {
	case OpAdd:
		return a + b
	case OpSub:
		return a - b
	case OpMul:
		return a * b
	case OpDiv:
		if b == 0 {
			return math.NaN()
		}
		return a / b
	case OpMod:
		return math.Mod(a, b)
	case OpPow:
		return math.Pow(a, b)
	case OpEqual:
		holds = a == b
	case OpNotEqual:
		holds = a != b
	case OpGreater:
		holds = a > b
	case OpGreaterOrEqual:
		holds = a >= b
	case OpLess:
		holds = a < b
	case OpLessOrEqual:
		holds = a <= b
	}
	if holds {
		return 1
	}
	return 0
}

// matching takes on (a) group_left (b), if it is there.
func (p *parser) matching(op BinaryOp) (*Matching, *Error) {
	t := p.peek()
	word := t.word()
	if word != "on" && word != "ignoring" || !p.ahead(1).is("(") {
		return nil, nil
	}
	p.at++
	labels, err := p.names("names of labels")
	if err != nil {
		return nil, err
	}
	m := &Matching{On: word == "on", Labels: labels}
	if g := p.peek(); g.word() == "group_left" || g.word() == "group_right" {
		p.at++
		if op.Set() {
			return nil, p.wrong(g.Range, g.text+" behind "+op.String(), "it behind arithmetic or a comparison")
		}
		if m.Group = GroupLeft; g.word() == "group_right" {
			m.Group = GroupRight
		}
		if p.groupLabels() {
			if m.Include, err = p.names("names of labels"); err != nil {
				return nil, err
			}
		}
	}
	m.Range = p.from(t.Start)
	return m, nil
}

// groupLabels reports whether the parenthesis behind group_left has labels, and is not
// that of the right side.
func (p *parser) groupLabels() bool {
	if !p.peek().is("(") {
		return false
	}
	if p.ahead(1).is(")") {
		return true
	}
	next := p.ahead(2)
	return p.ahead(1).kind == identifier && (next.is(")") || next.is(","))
}

// metric takes an expression of numbers.
func (p *parser) metric(strength int) (MetricExpr, *Error) {
	e, err := p.expression(strength)
	if err != nil {
		return nil, err
	}
	m, ok := e.(MetricExpr)
	if !ok {
		return nil, p.wrong(e.Place(), "a query of lines where numbers are needed", "a function such as rate(...[5m]) around it")
	}
	return m, nil
}

const wantExpression = `a stream selector such as {app="api"}, a function or a number`

// operand takes what operators join.
func (p *parser) operand() (Expr, *Error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t := p.peek()
	switch {
	case t.kind == number, t.is("-"), t.is("+"):
		v, err := p.signed("a number behind the sign")
		return &Literal{p.from(t.Start), v}, err
	case t.is("{"):
		return p.log()
	case t.is("("):
		p.at++
		e, err := p.expression(0)
		if err == nil {
			err = p.expect(")", "")
		}
		return e, err
	case t.kind == identifier:
		return p.function()
	}
	return nil, p.unexpected(wantExpression)
}

// function takes a function and its arguments.
func (p *parser) function() (Expr, *Error) {
	t := p.take()
	t.text = t.word()
	if op, ok := rangeOps[t.text]; ok {
		return p.rangeAggregation(t, op)
	}
	if op, ok := vectorOps[t.text]; ok {
		return p.vectorAggregation(t, op)
	}
	switch t.text {
	case "vector":
		return p.vector(t)
	case "label_replace":
		return p.labelReplace(t)
	}
	if why, ok := refused[t.text]; ok {
		return nil, p.wrong(t.Range, t.text+" is not supported", why)
	}
	if p.peek().is("(") {
		return nil, p.wrong(t.Range, "unknown function "+shorten(t.text), "one such as rate, count_over_time, sum or topk")
	}
	return nil, p.wrong(t.Range, "unexpected "+t.String(), wantExpression)
}

// refused are functions of Loki, and of Prometheus, that are not supported, with what to use instead.
var refused = map[string]string{
	"variants":          "one query for each variant",
	"absent":            "absent_over_time",
	"count_values":      "count by a label",
	"group":             "count",
	"increase":          "sum_over_time or count_over_time",
	"irate":             "rate",
	"quantile":          "quantile_over_time",
	"present_over_time": "count_over_time(...) > bool 0",
	"label_join":        "label_format in the pipeline",
	"limitk":            "topk",
	"scalar":            "a number",
}

func (p *parser) vector(t token) (Expr, *Error) {
	if err := p.expect("(", "and a number"); err != nil {
		return nil, err
	}
	v, err := p.signed("a number")
	if err == nil {
		err = p.expect(")", "")
	}
	return &Vector{p.from(t.Start), v}, err
}

func (p *parser) labelReplace(t token) (Expr, *Error) {
	if err := p.expect("(", "and an expression"); err != nil {
		return nil, err
	}
	inner, err := p.metric(0)
	if err != nil {
		return nil, err
	}
	var args [4]token
	for i, want := range []string{"the label to set, in quotes", "its value, in quotes, in which $1 is a group", "the label to read, in quotes", "a regular expression in quotes"} {
		if err := p.expect(",", "and "+want); err != nil {
			return nil, err
		}
		if args[i], err = p.text(want); err != nil {
			return nil, err
		}
	}
	if err := p.expect(")", ""); err != nil {
		return nil, err
	}
	if !validName(args[0].text) {
		return nil, p.wrong(args[0].Range, fmt.Sprintf("%q is no name of a label", shorten(args[0].text)), "letters, digits and _")
	}
	if lit, ok := inner.(*Literal); ok {
		return nil, p.wrong(lit.Range, "label_replace of a number", "series; vector(1) makes one")
	}
	if err := p.checkRegex(args[3].Range, args[3].text); err != nil {
		return nil, err
	}
	return &LabelReplace{p.from(t.Start), inner, args[0].text, args[1].text, args[2].text, args[3].text}, nil
}

// grouping takes by (a, b), if it is there.
func (p *parser) grouping() (*Grouping, *Error) {
	t := p.peek()
	word := t.word()
	if word != "by" && word != "without" {
		return nil, nil
	}
	p.at++
	labels, err := p.names("names of labels")
	return &Grouping{p.from(t.Start), word == "without", labels}, err
}

// vectorAggregation takes what is behind sum, topk and the like.
func (p *parser) vectorAggregation(t token, op VectorOp) (Expr, *Error) {
	a := &VectorAggregation{Op: op}
	var err *Error
	if a.Grouping, err = p.grouping(); err != nil {
		return nil, err
	}
	if err := p.expect("(", "and an expression"); err != nil {
		return nil, err
	}
	if op == TopK || op == BottomK || op == ApproxTopK {
		if a.K, err = p.count(op); err != nil {
			return nil, err
		}
	}
	if a.Inner, err = p.metric(0); err != nil {
		return nil, err
	}
	if err := p.expect(")", ""); err != nil {
		return nil, err
	}
	second := p.peek()
	if g, err := p.grouping(); err != nil {
		return nil, err
	} else if g != nil {
		if a.Grouping != nil {
			return nil, p.wrong(second.Range, "a second grouping", "one, before or behind the argument")
		}
		a.Grouping = g
	}
	if a.Grouping != nil && (op == Sort || op == SortDesc || op == ApproxTopK) {
		return nil, p.wrong(a.Grouping.Range, op.String()+" with a grouping", op.String()+"(...) without one")
	}
	if lit, ok := a.Inner.(*Literal); ok {
		return nil, p.wrong(lit.Range, op.String()+" of a number", "series; vector(1) makes one")
	}
	if g := a.Grouping; g != nil && !g.Without && len(g.Labels) == 0 {
		a.Grouping = nil // one series is what there is without, too
	}
	a.Range = p.from(t.Start)
	return a, nil
}

// count takes the first argument of topk.
func (p *parser) count(op VectorOp) (int, *Error) {
	t := p.peek()
	v, err := p.signed("how many series, and an expression: " + op.String() + "(5, ...)")
	if err != nil {
		return 0, err
	}
	if v != math.Trunc(v) || v < 1 || v > math.MaxInt32 {
		return 0, p.wrong(p.from(t.Start), fmt.Sprintf("%s of %g series", op, v), "a whole number from 1")
	}
	return int(v), p.expect(",", "and an expression")
}
