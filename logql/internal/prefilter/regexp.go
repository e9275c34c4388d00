package prefilter

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stele-go/stele/logql/internal/match"
)

// maxAlternatives bounds the texts that a line is searched for in the place of one
// regular expression: with some more the expression itself is the faster test.
const maxAlternatives = 32

// regexpNeeds returns the condition of the lines that an expression matches, nil for all lines. c
// is nil and exact is false only if text is no expression.
func (s *splitter) regexpNeeds(text string) (c condition, exact bool) {
	if c := foldedTexts(text); c != nil {
		return c, true
	}
	m, err := match.Compile(text)
	if err != nil {
		return nil, false
	}
	if m.Always() {
		return nil, true
	}
	if texts := m.Exact(); len(texts) > 0 && len(texts) <= maxAlternatives {
		return anyText(texts), true
	}
	var list []condition
	for _, texts := range m.Requires() {
		if texts = oneCase(texts); len(texts) <= maxAlternatives && worth(texts) {
			list = append(list, anyText(texts))
		}
	}
	of := m.NewShared(s.grow)
	s.shared = append(s.shared, of)
	return allOf(append(list, matching{of})), true
}

// anyText is met by lines with one of texts.
func anyText(texts []string) condition {
	list := make([]condition, len(texts))
	for i, t := range texts {
		if folded, ok := strings.CutPrefix(t, foldMark); ok {
			list[i] = containsFold(folded)
		} else {
			list[i] = contains(t)
		}
	}
	return anyOf(list)
}

// foldMark begins texts that are meant in any case.
const foldMark = "\xff"

// oneCase puts ASCII texts that differ in case only together.
func oneCase(texts []string) []string {
	byFold := map[string]int{}
	var out []string
	for _, t := range texts {
		if strings.ContainsFunc(t, func(r rune) bool { return r >= utf8.RuneSelf }) {
			out = append(out, t)
		} else {
			byFold[strings.ToLower(t)]++
		}
	}
	if len(byFold)+len(out) == len(texts) {
		return texts
	}
	for folded := range byFold {
		out = append(out, foldMark+folded)
	}
	slices.Sort(out)
	return out
}

// worth leaves out what every line has: single characters.
func worth(texts []string) bool {
	return len(texts) > 0 && !slices.ContainsFunc(texts, func(t string) bool { return len(strings.TrimPrefix(t, foldMark)) < 2 })
}

// foldedTexts returns the condition of an expression that is a text in any case, or an
// alternation of such; else nil.
func foldedTexts(text string) condition {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil
	}
	for tree.Op == syntax.OpCapture {
		tree = tree.Sub[0]
	}
	subs := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpAlternate {
		subs = tree.Sub
	}
	var list []condition
	for _, s := range subs {
		if s.Op != syntax.OpLiteral || s.Flags&syntax.FoldCase == 0 || slices.Contains(s.Rune, utf8.RuneError) || !slices.ContainsFunc(s.Rune, folds) {
			return nil
		}
		list = append(list, containsFold(string(s.Rune)))
	}
	return anyOf(list)
}

func folds(r rune) bool { return unicode.SimpleFold(r) != r }
