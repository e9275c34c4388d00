package prefilter

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// maxAlternatives bounds the literals that a line is searched for in the place of one
// regular expression: behind some more the expression itself is the faster test.
const maxAlternatives = 32

// regexpNeeds returns literals that each match of an expression has, nil if there is none
// that helps. exact tells that a line with them always has a match.
func regexpNeeds(text string) (c condition, exact bool) {
	// The flag s is Loki's: a dot also matches the end of a line.
	tree, err := syntax.Parse(text, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil, false
	}
	w := walker{left: maxAlternatives}
	tree = dropEdges(tree.Simplify())
	c, exact = w.needs(tree)
	if w.left < 0 {
		return nil, false
	}
	return c, exact
}

// dropEdges takes .* away from both ends, as matches are anywhere in a line.
func dropEdges(re *syntax.Regexp) *syntax.Regexp {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	if re.Op != syntax.OpConcat {
		return re
	}
	sub := re.Sub
	for len(sub) > 0 && anything(sub[0]) {
		sub = sub[1:]
	}
	for len(sub) > 0 && anything(sub[len(sub)-1]) {
		sub = sub[:len(sub)-1]
	}
	switch len(sub) {
	case 0:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	case 1:
		return sub[0]
	}
	trimmed := *re
	trimmed.Sub = sub
	return &trimmed
}

func anything(re *syntax.Regexp) bool {
	return re.Op == syntax.OpStar && re.Sub[0].Op == syntax.OpAnyChar
}

// walker counts the alternatives that are left.
type walker struct{ left int }

// needs returns what a match of re has; nil is nothing, and, if exact, what every text has.
func (w *walker) needs(re *syntax.Regexp) (c condition, exact bool) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return nil, true
	case syntax.OpLiteral:
		return w.literal(re)
	case syntax.OpCharClass:
		return w.class(re)
	case syntax.OpCapture:
		return w.needs(re.Sub[0])
	case syntax.OpPlus:
		return w.needs(re.Sub[0]) // a text with one has a match, and each match has one
	case syntax.OpRepeat:
		if re.Min > 0 {
			c, exact = w.needs(re.Sub[0])
			return c, exact && re.Min == 1
		}
	case syntax.OpConcat:
		return w.concat(re.Sub)
	case syntax.OpAlternate:
		return w.alternate(re.Sub)
	case syntax.OpStar, syntax.OpQuest:
		return nil, false
	}
	return nil, false
}

func (w *walker) literal(re *syntax.Regexp) (condition, bool) {
	w.left--
	folds := false
	for _, r := range re.Rune {
		if r == utf8.RuneError {
			return nil, false // bytes that are not UTF-8 match it too
		}
		folds = folds || unicode.SimpleFold(r) != r
	}
	if folds && re.Flags&syntax.FoldCase != 0 {
		return containsFold(string(re.Rune)), true
	}
	return contains(string(re.Rune)), true
}

// class is a choice of few runes: [ab], of which a parser makes also a|b.
func (w *walker) class(re *syntax.Regexp) (condition, bool) {
	var list []condition
	for i := 0; i < len(re.Rune); i += 2 {
		if re.Rune[i+1]-re.Rune[i] > 3 || len(list) > 4 || re.Rune[i+1] >= utf8.RuneError {
			return nil, false
		}
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			list = append(list, contains(string(r)))
		}
	}
	if len(list) == 0 {
		return nil, false
	}
	w.left -= len(list)
	return anyOf(list), true
}

// concat needs what its parts need. Texts that follow each other directly are one text.
func (w *walker) concat(sub []*syntax.Regexp) (condition, bool) {
	var list []condition
	for _, s := range sub {
		if c, _ := w.needs(s); c != nil && worth(c) {
			list = append(list, c)
		}
	}
	// (a|b)c and ab+ may be met by lines in which the parts do not follow each other.
	return allOf(list), false
}

// worth leaves out single letters beside other conditions: every line has them.
func worth(c condition) bool {
	switch c := c.(type) {
	case contains:
		return len(c) > 1
	case containsFold:
		return len(c) > 1
	case either:
		for _, one := range c {
			if !worth(one) {
				return false
			}
		}
	}
	return true
}

func (w *walker) alternate(sub []*syntax.Regexp) (condition, bool) {
	var list []condition
	exact := true
	for _, s := range sub {
		s = dropEdges(s)
		c, whole := w.needs(s)
		if c == nil {
			return nil, whole
		}
		exact = exact && whole
		list = append(list, c)
	}
	return anyOf(list), exact
}
