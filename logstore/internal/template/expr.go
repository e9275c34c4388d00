package template

import (
	"regexp"
	"slices"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// An Expr is a test of lines, of which a part may be known of a template. It is
// immutable, and safe for concurrent use.
type Expr struct {
	op     exprOp
	kids   []*Expr
	needle *Needle
	match  func(line []byte) bool
	leaf   int // of a needle, a match or an Indexed among those of a Query
	index  filter.Needle
	// automaton, unless nil, is that of match.
	automaton *Automaton
	// selective: it may leave few lines, so that columns are asked for it before lines are made
	// to be matched. It is known of the Expr of a Query.
	selective bool
}

type exprOp uint8

const (
	exprAll exprOp = iota
	exprAny
	exprNot
	exprNeedle
	exprMatch
	exprIndexed
)

// Has is the test for lines with a needle.
func Has(n *Needle) *Expr { return &Expr{op: exprNeedle, needle: n} }

// All is the test for lines that pass all tests; without tests, for every line.
func All(tests ...*Expr) *Expr { return &Expr{op: exprAll, kids: tests} }

// Any is the test for lines that pass at least one test; without tests, for no line.
func Any(tests ...*Expr) *Expr { return &Expr{op: exprAny, kids: tests} }

// Not is the test for lines that do not pass a test.
func Not(test *Expr) *Expr { return &Expr{op: exprNot, kids: []*Expr{test}} }

// Opaque is a test of which only this is known: lines that pass it pass require too, or
// nothing if require is nil. match, unless nil, is the test itself, and depends on nothing
// but the line; it is called for lines of templates without slots.
func Opaque(require *Expr, match func(line []byte) bool) *Expr {
	if require == nil {
		require = All()
	}
	return &Expr{op: exprMatch, kids: []*Expr{require}, match: match}
}

// Regexp is the test for lines that re matches, of which this is known: they pass require
// too, or nothing if it is nil.
func Regexp(require *Expr, re *regexp.Regexp) *Expr {
	return RegexpFunc(require, re.String(), re.Match)
}

// RegexpFunc is Regexp for the expression expr, of which match tells whether a text has a match.
func RegexpFunc(require *Expr, expr string, match func(text []byte) bool) *Expr {
	x := Opaque(require, match)
	x.automaton = newAutomaton(expr, match)
	return x
}

// Indexed is a test of which only this is known: a block whose filter does not have n has
// no line that passes it. It is for what is not of the line.
func Indexed(n filter.Needle) *Expr { return &Expr{op: exprIndexed, index: n} }

// A Query is an Expr that is ready to be asked of dictionaries. It is safe for concurrent
// use.
type Query struct {
	root    *Expr
	needles []*Needle
	matches int  // Opaques and Regexps
	indexed int  // Indexeds
	regexps bool // it has a Regexp
}

// NewQuery returns the query of a test.
func NewQuery(x *Expr) *Query {
	q := &Query{}
	q.root = q.add(x)
	return q
}

// Asks reports whether the filter of a block may tell that no line of it passes the test.
func (q *Query) Asks() bool {
	return slices.ContainsFunc(q.needles, func(n *Needle) bool { return !n.within.Empty() }) || q.indexed > 0
}

// add returns a copy of x in which all that has a leaf has a number.
func (q *Query) add(x *Expr) *Expr {
	y := *x
	y.kids = make([]*Expr, len(x.kids))
	for i, k := range x.kids {
		y.kids[i] = q.add(k)
	}
	y.selective = y.selects()
	q.regexps = q.regexps || x.automaton != nil
	switch x.op {
	case exprIndexed:
		y.leaf = q.indexed
		q.indexed++
	case exprMatch:
		y.leaf = q.matches
		q.matches++
	case exprNeedle:
		y.leaf = slices.IndexFunc(q.needles, func(n *Needle) bool {
			return n.kind == x.needle.kind && string(n.all) == string(x.needle.all)
		})
		if y.leaf < 0 {
			y.leaf = len(q.needles)
			q.needles = append(q.needles, x.needle)
		}
	}
	return &y
}

// minSelective is the least length of a needle that is selective. Two numbers with a point
// between have one of ten digits before the point, and one of ten behind it: most lines have
// such a text, and to ask columns for twenty takes longer than to match the lines.
const minSelective = 3

// selects reports whether x is selective. Its kids know whether they are.
func (x *Expr) selects() bool {
	switch x.op {
	case exprNeedle:
		return len(x.needle.all) >= minSelective
	case exprAny:
		return !slices.ContainsFunc(x.kids, func(k *Expr) bool { return !k.selective })
	case exprAll:
		return slices.ContainsFunc(x.kids, func(k *Expr) bool { return k.selective })
	}
	return true
}

// sole returns x, or the only test that it is made of.
func (x *Expr) sole() *Expr {
	for (x.op == exprAll || x.op == exprAny) && len(x.kids) == 1 {
		x = x.kids[0]
	}
	return x
}

// A judge tells what is known of the parts of an Expr for lines of one template.
type judge struct {
	template Template
	needle   func(leaf int) Verdict
	indexed  func(x *Expr) Verdict
	always   func(x *Expr) bool
}

// always reports whether the match of x is known to have every line of a template.
func (x *Expr) always(t Template) bool {
	if t.Slots() == 0 {
		return x.match(t.Text())
	}
	return x.automaton != nil && x.automaton.inLiteral(t)
}

// verdict combines what is known of the parts.
func (x *Expr) verdict(j *judge) Verdict {
	switch x.op {
	case exprNeedle:
		return j.needle(x.leaf)
	case exprIndexed:
		return j.indexed(x)
	case exprNot:
		return Always - x.kids[0].verdict(j)
	case exprMatch:
		v := min(Maybe, x.kids[0].verdict(j))
		if v == Never || x.match == nil {
			return v
		}
		switch {
		case j.always(x):
			return Always
		case j.template.Slots() == 0:
			return Never
		}
		return v
	case exprAny:
		v := Never
		for i := 0; i < len(x.kids) && v != Always; i++ {
			v = max(v, x.kids[i].verdict(j))
		}
		return v
	}
	v := Always
	for i := 0; i < len(x.kids) && v != Never; i++ {
		v = min(v, x.kids[i].verdict(j))
	}
	return v
}
