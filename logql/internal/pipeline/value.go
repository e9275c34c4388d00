package pipeline

import (
	"cmp"
	"strconv"
	"time"

	"github.com/stele-go/stele/logql/internal/units"
	"github.com/stele-go/stele/logql/syntax"
)

// valueKind is what the text of a label is taken for.
type valueKind uint8

const (
	numbers valueKind = iota
	durations
	sizes
)

// valuePredicate is status >= 500, took > 1s, size > 20MB.
type valuePredicate struct {
	id       int32
	op       syntax.CompareOp
	kind     valueKind
	number   float64
	duration time.Duration
	bytes    uint64
}

func (p *valuePredicate) test(r *Run) bool {
	text, ok := r.set.get(p.id)
	if !ok {
		return false
	}
	switch p.kind {
	case numbers:
		if v, ok := units.Number(text); ok {
			return compare(p.op, v, p.number)
		}
	case durations:
		if v, ok := units.Duration(text); ok {
			return compare(p.op, v, p.duration)
		}
	case sizes:
		if v, ok := units.Bytes(text); ok {
			return compare(p.op, v, p.bytes)
		}
	}
	if !r.failed() {
		r.fail(filterFailed, r.make(func(buf []byte) []byte { return appendConversionError(buf, p.kind, text) }))
	}
	return true
}

// decide leaves lines whose value may be none to test, which says so.
func (p *valuePredicate) decide(r *Run) verdict {
	if r.set.names[p.id].base == 0 {
		r.mayFail = true
		return unknown
	}
	pass := p.test(r)
	if r.failed() {
		r.set.drop(errorID)
		r.set.drop(detailsID)
		r.mayFail = true
		return unknown
	}
	return verdictOf(pass)
}

func compare[T cmp.Ordered](op syntax.CompareOp, a, b T) bool {
	switch op {
	case syntax.CompareEqual:
		return a == b
	case syntax.CompareNotEqual:
		return a != b
	case syntax.CompareLess:
		return a < b
	case syntax.CompareLessOrEqual:
		return a <= b
	case syntax.CompareGreater:
		return a > b
	}
	return a >= b
}

// appendConversionError appends why text is no value of a kind, in the words of Loki.
func appendConversionError(buf []byte, kind valueKind, text []byte) []byte {
	var err error
	switch kind {
	case numbers:
		if isPlainText(text) && !units.MayBeNumber(text) {
			return append(append(append(buf, `strconv.ParseFloat: parsing "`...), text...), `": invalid syntax`...)
		}
		_, err = strconv.ParseFloat(string(text), 64)
	case durations:
		if isPlainText(text) && !units.MayBeNumber(text) {
			return append(append(append(buf, `time: invalid duration "`...), text...), '"')
		}
		_, err = time.ParseDuration(string(text))
	case sizes:
		return append(buf, units.BytesProblem(text)...)
	}
	if err == nil {
		return buf
	}
	return append(buf, err.Error()...)
}

// isPlainText reports whether text is as it is in quotes: most of what is no number. An error
// of the standard library takes memory.
func isPlainText(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// unwrap makes a number of a label.
type unwrap struct {
	id      int32
	kind    valueKind
	filters []predicate
}

func (p *Pipeline) compileUnwrap(u *syntax.Unwrap) (*unwrap, error) {
	c := &unwrap{id: p.need(u.Label)}
	switch u.Conversion {
	case syntax.ConvertDuration:
		c.kind = durations
	case syntax.ConvertBytes:
		c.kind = sizes
	}
	for _, f := range u.Filters {
		f, err := p.compilePredicate(f.Predicate)
		if err != nil {
			return nil, err
		}
		c.filters = append(c.filters, f)
	}
	return c, nil
}

// run returns false if the line has no value, or its filters refuse it.
func (u *unwrap) run(r *Run) bool {
	text, _ := r.set.get(u.id)
	if len(text) == 0 {
		return false
	}
	var ok bool
	if r.Value, ok = u.parse(text); !ok {
		r.Value = 0
		r.fail(unwrapFailed, r.make(func(buf []byte) []byte { return appendConversionError(buf, u.kind, text) }))
	}
	for _, f := range u.filters {
		if !f.test(r) {
			return false
		}
	}
	return true
}
