package logstore

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A textNeed is what a line must have to match a regular expression. The zero value is
// met by every line.
type textNeed struct {
	op   textOp
	text string
	of   []textNeed
}

type textOp uint8

const (
	textNothing textOp = iota
	textHas            // the line has text
	textHasFold        // in any case
	textAll            // all of of are met
	textAny            // at least one
)

// needText is met by lines that have a text, in any case if folds.
func needText(s string, folds bool) textNeed {
	switch {
	case s == "":
		return textNeed{}
	case folds:
		return textNeed{op: textHasFold, text: s}
	}
	return textNeed{op: textHas, text: s}
}

func needAll(needs ...textNeed) textNeed {
	needs = slices.DeleteFunc(needs, textNeed.nothing)
	switch len(needs) {
	case 0:
		return textNeed{}
	case 1:
		return needs[0]
	}
	return textNeed{op: textAll, of: needs}
}

func needAny(needs ...textNeed) textNeed {
	switch {
	case len(needs) == 0 || slices.ContainsFunc(needs, textNeed.nothing):
		return textNeed{}
	case len(needs) == 1:
		return needs[0]
	}
	return textNeed{op: textAny, of: needs}
}

func (n textNeed) nothing() bool { return n.op == textNothing }

// requirement returns what filters of blocks must have.
func (n textNeed) requirement() (r requirement) {
	switch n.op {
	case textHas, textHasFold:
		return requireAll(filter.Substring([]byte(n.text)))
	case textAll:
		for _, of := range n.of {
			r = r.and(of.requirement())
		}
	case textAny:
		var any []requirement
		for _, of := range n.of {
			any = append(any, of.requirement())
		}
		return requireAny(any...)
	}
	return r
}

// test returns the test for lines that meet the need.
func (n textNeed) test() *template.Expr {
	var of []*template.Expr
	for _, kid := range n.of {
		of = append(of, kid.test())
	}
	switch n.op {
	case textHas:
		return hasText(n.text, template.Bytes)
	case textHasFold:
		return hasText(n.text, template.Folded)
	case textAny:
		return template.Any(of...)
	}
	return template.All(of...)
}

func hasText(s string, kind template.NeedleKind) *template.Expr {
	return template.Has(template.NewNeedle([]byte(s), kind))
}
