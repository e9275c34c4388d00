package syntax

import (
	"math"
	"time"
)

// labelFilter takes a condition on labels; | is taken.
func (p *parser) labelFilter(start int) (*LabelFilter, *Error) {
	c, err := p.predicate(0)
	if err != nil {
		return nil, err
	}
	return &LabelFilter{p.from(start), c}, nil
}

// predicate takes conditions that operators of at least a strength join: 0 is "or", 1 is
// "and".
func (p *parser) predicate(strength int) (Predicate, *Error) {
	left, err := p.condition()
	if err != nil {
		return nil, err
	}
	for {
		or, joined := p.joint(strength)
		if !joined {
			return left, nil
		}
		if err := p.operator(); err != nil {
			return nil, err
		}
		var right Predicate
		if or {
			right, err = p.predicate(1)
		} else {
			right, err = p.condition()
		}
		if err != nil {
			return nil, err
		}
		r := Range{left.Place().Start, right.Place().End}
		if or {
			left = &Or{r, left, right}
		} else {
			left = &And{r, left, right}
		}
	}
}

// joint takes what joins two conditions, if it is strong enough.
func (p *parser) joint(strength int) (or, joined bool) {
	t := p.peek()
	switch {
	case t.word() == "or" && !p.compares(1):
		if strength > 0 {
			return true, false
		}
		p.at++
		return true, true
	case t.word() == "and" && !p.compares(1):
		p.at++
		return false, true
	}
	return false, false
}

// compares reports whether the n-th token ahead compares.
func (p *parser) compares(n int) bool {
	t := p.ahead(n)
	return t.kind == symbol && (comparing[t.text] || t.text == "!=" || t.text == "!~")
}

// condition takes one condition. A comma behind it, or nothing, is an "and" with all that
// follows: a, b or c is a and (b or c), and a or b, c is a or (b and c). So Loki has it.
func (p *parser) condition() (Predicate, *Error) {
	c, err := p.single()
	if err != nil {
		return nil, err
	}
	t := p.peek()
	if !p.accept(",") && !t.is("(") && (t.kind != identifier || !p.compares(1)) {
		return c, nil
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	rest, err := p.predicate(0)
	if err != nil {
		return nil, err
	}
	return &And{Range{c.Place().Start, rest.Place().End}, c, rest}, nil
}

// single takes one condition, or conditions in parentheses.
func (p *parser) single() (Predicate, *Error) {
	if p.accept("(") {
		if err := p.enter(); err != nil {
			return nil, err
		}
		c, err := p.predicate(0)
		if err == nil {
			err = p.expect(")", "")
		}
		p.leave()
		return c, err
	}
	name, err := p.name(`a condition such as status>=500, or "("`)
	if err != nil {
		return nil, err
	}
	if !p.compares(0) {
		return nil, p.unexpected(`"=", "!=", "=~", "!~", "==", ">", ">=", "<" or "<="`)
	}
	return p.comparison(name, p.take())
}

var compareOps = map[string]CompareOp{
	"=": CompareEqual, "==": CompareEqual, "!=": CompareNotEqual,
	"<": CompareLess, "<=": CompareLessOrEqual, ">": CompareGreater, ">=": CompareGreaterOrEqual,
}

// comparison takes what a label is compared with.
func (p *parser) comparison(name, op token) (Predicate, *Error) {
	match, isMatch := matchOps[op.text]
	compare, isCompare := compareOps[op.text]
	t := p.peek()
	switch {
	case t.kind == text && isMatch:
		m, err := p.matcherValue(name, match)
		return &TextPredicate{m.Range, m}, err
	case t.word() == "ip" && isMatch && isCompare:
		value, err := p.ip()
		return &IPPredicate{p.from(name.Start), name.text, match == NotEqual, value}, err
	case !isCompare:
		return nil, p.unexpected("a regular expression in quotes")
	}
	return p.quantity(name, op, compare, isMatch)
}

// quantity takes a number, a duration or a size.
func (p *parser) quantity(name, op token, compare CompareOp, orText bool) (Predicate, *Error) {
	start := p.at
	sign := ""
	if p.accept("-") {
		sign = "-"
	} else {
		p.accept("+")
	}
	switch t := p.peek(); {
	case t.kind == number:
		p.at = start
		v, err := p.signed("a number")
		return &NumberPredicate{p.from(name.Start), name.text, compare, v}, err
	case t.kind == duration:
		p.at++
		d, err := ParseDuration(sign + t.text)
		if err != nil {
			return nil, p.wrong(t.Range, err.Error(), "")
		}
		return &DurationPredicate{p.from(name.Start), name.text, compare, d, sign + t.text}, nil
	case t.kind == size && sign == "":
		p.at++
		n, err := ParseBytes(t.text)
		if err != nil {
			return nil, p.wrong(t.Range, err.Error(), "")
		}
		return &BytesPredicate{p.from(name.Start), name.text, compare, n, t.text}, nil
	}
	want := "a number, a duration or a size"
	if orText {
		want = "a text in quotes, ip(...), " + want
	}
	return nil, p.unexpected(want)
}

// span takes a duration of a range or an offset.
func (p *parser) span(want string, negative bool) (time.Duration, *Error) {
	t := p.peek()
	sign := ""
	if negative && t.is("-") {
		p.at++
		sign, t = "-", p.peek()
	}
	if t.kind != duration {
		return 0, p.unexpected(want)
	}
	p.at++
	d, err := ParseDuration(sign + t.text)
	if err != nil {
		return 0, p.wrong(t.Range, err.Error(), "")
	}
	if d == math.MinInt64 {
		return 0, p.wrong(t.Range, "duration is out of range", "")
	}
	return d, nil
}
