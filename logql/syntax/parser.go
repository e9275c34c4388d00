package syntax

import (
	"fmt"
	"math"
	"strings"
)

// Bounds of a query. Each is far beyond what people write; machines that reach one get
// an error that names it.
const (
	// MaxQuery is the largest size of a query in bytes: 128 KiB.
	MaxQuery = 128 << 10
	// maxDepth bounds functions and parentheses in each other.
	maxDepth = 200
	// maxOperators bounds operators, stages and conditions, and so the depth of a tree.
	maxOperators = 5000
)

// Parse reads a query. The error is an *Error. It refuses a query whose stream selector has
// no matcher that the empty text fails, as that selects all streams or nearly so.
func Parse(query string) (Expr, error) {
	p, err := newParser(query)
	if err != nil {
		return nil, err
	}
	e, err := p.whole()
	if err != nil {
		return nil, err
	}
	return e, nil
}

// ParseLog reads a query of lines: a selector and its stages. The error is an *Error.
func ParseLog(query string) (*LogExpr, error) {
	e, err := Parse(query)
	if err != nil {
		return nil, err
	}
	log, ok := e.(*LogExpr)
	if !ok {
		return nil, &Error{Query: query, Range: e.Place(), Msg: "the query gives numbers", Want: `one of lines, such as {app="api"}`}
	}
	return log, nil
}

// ParseMetric reads a query of numbers. The error is an *Error.
func ParseMetric(query string) (MetricExpr, error) {
	e, err := Parse(query)
	if err != nil {
		return nil, err
	}
	m, ok := e.(MetricExpr)
	if !ok {
		return nil, &Error{Query: query, Range: e.Place(), Msg: "the query gives lines", Want: `one of numbers, such as rate({app="api"}[5m])`}
	}
	return m, nil
}

// ParseMatchers reads a stream selector, {app="api"}, which may be {} and whose matchers
// may all accept the empty text. The error is an *Error.
func ParseMatchers(query string) ([]Matcher, error) {
	p, err := newParser(query)
	if err != nil {
		return nil, err
	}
	matchers, err := p.selector()
	if err == nil {
		err = p.finish("the end of the query")
	}
	if err != nil {
		return nil, err
	}
	return matchers, nil
}

// A parser reads the tokens of a query, by recursive descent.
type parser struct {
	query     string
	tokens    []token
	at        int
	depth     int
	operators int
	program   int64 // bytes of regular expressions, compiled
}

func newParser(query string) (*parser, *Error) {
	if len(query) > MaxQuery {
		return nil, &Error{Query: query[:64], Range: Range{0, 0}, Msg: fmt.Sprintf("the query has %d bytes", len(query)), Want: fmt.Sprintf("at most %d", MaxQuery)}
	}
	tokens, err := lex(query)
	if err != nil {
		return nil, err
	}
	return &parser{query: query, tokens: tokens}, nil
}

func (p *parser) whole() (Expr, *Error) {
	e, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	want := "an operator or the end of the query"
	if _, ok := e.(*LogExpr); ok {
		want = "a stage such as | json, a filter such as |= \"text\", or the end of the query"
		switch t := p.peek(); {
		case t.is("["):
			return nil, p.wrong(t.Range, "a range outside of a function", "rate(...), count_over_time(...) or another function around it")
		case p.unwrapAhead():
			return nil, p.wrong(p.tokens[p.at+1].Range, "unwrap in a query of lines", "a function such as sum_over_time(... [5m]) around it")
		}
	}
	if err := p.finish(want); err != nil {
		return nil, err
	}
	return e, nil
}

func (p *parser) finish(want string) *Error {
	if p.peek().kind != end {
		return p.unexpected(want)
	}
	return nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

// ahead returns the n-th token after the next one.
func (p *parser) ahead(n int) token { return p.tokens[min(p.at+n, len(p.tokens)-1)] }

// take returns the next token and passes it.
func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

// from returns the range from start to the end of the last token taken.
func (p *parser) from(start int) Range {
	if p.at == 0 {
		return Range{start, start}
	}
	return Range{start, max(start, p.tokens[p.at-1].End)}
}

// accept takes the symbol s if it is next.
func (p *parser) accept(s string) bool {
	if p.peek().is(s) {
		p.at++
		return true
	}
	return false
}

// acceptWord takes the word s if it is next.
func (p *parser) acceptWord(s string) bool {
	if p.peek().word() == s {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(s, why string) *Error {
	if p.accept(s) {
		return nil
	}
	return p.unexpected(strings.TrimSpace(fmt.Sprintf("%q %s", s, why)))
}

func (p *parser) wrong(place Range, msg, want string) *Error {
	return &Error{Query: p.query, Range: place, Msg: msg, Want: want}
}

// unexpected is the error about the next token.
func (p *parser) unexpected(want string) *Error {
	t := p.peek()
	return p.wrong(t.Range, "unexpected "+t.String(), want)
}

// enter counts a level of parentheses or functions.
func (p *parser) enter() *Error {
	if p.depth++; p.depth > maxDepth {
		return p.wrong(p.peek().Range, fmt.Sprintf("more than %d levels of parentheses and functions", maxDepth), "fewer")
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// operator counts an operator, a stage or a condition.
func (p *parser) operator() *Error {
	if p.operators++; p.operators > maxOperators {
		return p.wrong(p.peek().Range, fmt.Sprintf("more than %d operators, stages and conditions", maxOperators), "fewer")
	}
	return nil
}

// name takes a word.
func (p *parser) name(want string) (token, *Error) {
	if p.peek().kind != identifier {
		return token{}, p.unexpected(want)
	}
	return p.take(), nil
}

// text takes a text.
func (p *parser) text(want string) (token, *Error) {
	if p.peek().kind != text {
		return token{}, p.unexpected(want)
	}
	return p.take(), nil
}

// signed takes a number with or without a sign.
func (p *parser) signed(want string) (float64, *Error) {
	start := p.at
	negative := p.accept("-")
	if !negative {
		p.accept("+")
	}
	t := p.peek()
	if t.kind != number {
		err := p.unexpected(want)
		p.at = start
		return 0, err
	}
	p.at++
	v, err := parseNumber(t.text)
	if err != nil || math.IsInf(v, 0) {
		return 0, p.wrong(t.Range, "number "+shorten(t.text)+" is out of range", "one of at most 1.8e308")
	}
	if negative {
		v = -v
	}
	return v, nil
}

// names takes (a, b), which may be ().
func (p *parser) names(what string) ([]string, *Error) {
	if err := p.expect("(", "and "+what); err != nil {
		return nil, err
	}
	list := []string{}
	for !p.accept(")") {
		if len(list) > 0 {
			if err := p.expect(",", `or ")"`); err != nil {
				return nil, err
			}
		}
		t, err := p.name("the name of a label")
		if err != nil {
			return nil, err
		}
		list = append(list, t.text)
	}
	return list, nil
}

// selector takes {app="api", level=~"warn|error"}.
func (p *parser) selector() ([]Matcher, *Error) {
	if err := p.expect("{", "and a stream selector"); err != nil {
		return nil, err
	}
	matchers := []Matcher{}
	for !p.accept("}") {
		if len(matchers) > 0 {
			if err := p.expect(",", `or "}"`); err != nil {
				return nil, err
			}
			if p.accept("}") {
				break
			}
		}
		m, err := p.matcher()
		if err != nil {
			return nil, err
		}
		matchers = append(matchers, m)
	}
	return matchers, nil
}

func (p *parser) matcher() (Matcher, *Error) {
	name, err := p.name(`the name of a label, or "}"`)
	if err != nil {
		return Matcher{}, err
	}
	if err := p.operator(); err != nil {
		return Matcher{}, err
	}
	op, ok := matchOps[p.peek().text]
	if !ok || p.peek().kind != symbol {
		return Matcher{}, p.unexpected(`"=", "!=", "=~" or "!~"`)
	}
	p.at++
	return p.matcherValue(name, op)
}

// matcherValue takes what is behind the operator of a matcher.
func (p *parser) matcherValue(name token, op MatchOp) (Matcher, *Error) {
	value, err := p.text("a text in quotes")
	if err != nil {
		return Matcher{}, err
	}
	m := Matcher{Range: p.from(name.Start), Name: name.text, Op: op, Value: value.text}
	if op >= Matches {
		if err := p.checkRegex(value.Range, value.text); err != nil {
			return Matcher{}, err
		}
	}
	return m, nil
}

var matchOps = map[string]MatchOp{"=": Equal, "!=": NotEqual, "=~": Matches, "!~": NotMatches}
