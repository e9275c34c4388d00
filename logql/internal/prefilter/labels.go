package prefilter

import (
	"fmt"
	resyntax "regexp/syntax"
	"slices"
	"strings"

	"github.com/stele-go/stele/logql/internal/match"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A label filter behind a parser needs something of the line itself: with | json |
// status="500", the line has the word 500. Values are hidden from that only by escapes, so
// a line with an escape of one of the characters passes too, and by labels that are not of
// the line: those of metadata are looked at, those of streams rule the condition out.

// predicate returns what a line needs to pass a label filter.
func (s *splitter) predicate(p syntax.Predicate) (condition, bool) {
	switch p := p.(type) {
	case *syntax.And:
		a, okA := s.predicate(p.Left)
		b, okB := s.predicate(p.Right)
		switch {
		case okA && okB:
			return every{a, b}, true
		case okA:
			return a, true
		}
		return b, okB
	case *syntax.Or:
		a, okA := s.predicate(p.Left)
		b, okB := s.predicate(p.Right)
		return either{a, b}, okA && okB
	case *syntax.TextPredicate:
		return s.text(p.Matcher)
	case *syntax.NumberPredicate:
		return s.comparison(field{name: p.Name, op: p.Op, value: p.Value})
	case *syntax.DurationPredicate:
		return s.comparison(field{name: p.Name, op: p.Op, kind: durations, duration: p.Value})
	case *syntax.BytesPredicate:
		return s.comparison(field{name: p.Name, op: p.Op, kind: sizes, size: p.Value})
	}
	return nil, false
}

// known reports whether the values of a label come from the lines of the store, or from metadata.
func (s *splitter) known(name string) bool {
	return !s.opaque && !s.defined[name] && !strings.HasPrefix(name, "__") && !s.streamHas(name)
}

func (s *splitter) text(m syntax.Matcher) (condition, bool) {
	if !s.known(m.Name) {
		return nil, false
	}
	values := []string{m.Value}
	switch m.Op {
	case syntax.Equal:
	case syntax.Matches:
		var ok bool
		if values, ok = alternatives(m.Value); !ok {
			return s.expression(m)
		}
	default:
		return nil, false
	}
	var list []condition
	for _, v := range values {
		if v == "" {
			return nil, false // labels that are missing match it
		}
		list = append(list, metadata{name: m.Name, value: v})
		if base, ok := strings.CutSuffix(m.Name, "_extracted"); ok && base != "" {
			// The stream may have the label of the same name.
			list = append(list, metadata{name: base, value: v})
		}
		if len(s.parsers) == 0 {
			continue
		}
		c, ok := s.inLine(v)
		if !ok {
			return nil, false
		}
		list = append(list, c...)
	}
	return anyOf(distinct(list)), true
}

// expression returns what a line needs for a label to have a value that an expression
// matches: of each of its required texts the plain part.
func (s *splitter) expression(m syntax.Matcher) (condition, bool) {
	re, err := match.CompileWhole(m.Value)
	if err != nil || m.Value == "" || re.Match(nil) {
		return nil, false // labels that are missing match it
	}
	labelled := []condition{metadata{name: m.Name, op: logstore.NotEqual}}
	if base, ok := strings.CutSuffix(m.Name, "_extracted"); ok && base != "" {
		labelled = append(labelled, metadata{name: base, op: logstore.NotEqual})
	}
	if len(s.parsers) == 0 {
		return anyOf(labelled), true
	}
	var all []condition
	for _, texts := range re.Requires() {
		if list, ok := s.oneOf(texts); ok {
			all = append(all, anyOf(distinct(append(slices.Clip(labelled), list...))))
		}
	}
	return allOf(all), len(all) > 0
}

// oneOf returns what one of the parsers needs to make a label of a value with one of texts.
func (s *splitter) oneOf(texts []string) (list []condition, ok bool) {
	escaped := slices.ContainsFunc(s.parsers, func(p parser) bool { return p != parsesRaw })
	if len(texts) > maxAlternatives {
		return nil, false
	}
	for _, t := range texts {
		part, _ := plain(t)
		if len(part) < 2 {
			return nil, false // most lines have it
		}
		list = append(list, contains(part))
		if escaped {
			list = append(list, escapes(part)...)
		}
	}
	return list, true
}

// distinct drops conditions that are there twice.
func distinct(list []condition) []condition {
	seen := map[condition]bool{}
	return slices.DeleteFunc(list, func(c condition) bool {
		known := seen[c]
		seen[c] = true
		return known
	})
}

// inLine returns what one of the parsers needs to make a label of a value.
func (s *splitter) inLine(value string) ([]condition, bool) {
	part, whole := plain(value)
	if part == "" {
		return nil, false
	}
	escaped, asWord := false, whole
	for _, p := range s.parsers {
		escaped = escaped || p != parsesRaw
		asWord = asWord && p != parsesRaw
	}
	switch {
	case asWord && escaped:
		return []condition{word(part), hiddenWord(part)}, true
	case asWord:
		return []condition{word(part)}, true
	case escaped:
		return append([]condition{contains(part)}, escapes(part)...), true
	}
	return []condition{contains(part)}, true
}

// plain returns the longest part of a value that a line has as it is, unless by escapes;
// whole if that is the value, and it can be a word.
func plain(value string) (part string, whole bool) {
	start := 0
	for i := 0; i <= len(value); i++ {
		if i < len(value) && isPlain(value[i]) {
			continue
		}
		if i-start > len(part) {
			part = value[start:i]
		}
		start = i + 1
	}
	return part, part == value
}

func isPlain(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-' || c == '.'
}

// escapes returns how JSON, and quoted values of logfmt, may hide a character of a text: by
// \u00 and two digits, of which the first has no upper and lower case.
func escapes(part string) []condition {
	var list []condition
	for i := range len(part) {
		list = append(list, contains(fmt.Sprintf(`\u00%x`, part[i]>>4)))
	}
	return distinct(list)
}

// alternatives returns the values that an anchored expression matches, if it is an
// alternation of few literals.
func alternatives(text string) ([]string, bool) {
	tree, err := resyntax.Parse(text, resyntax.Perl|resyntax.DotNL)
	if err != nil {
		return nil, false
	}
	list, ok := literals(tree.Simplify())
	return list, ok && len(list) <= maxAlternatives
}

// literals expands literals, classes and their sequences.
func literals(re *resyntax.Regexp) ([]string, bool) {
	switch re.Op {
	case resyntax.OpEmptyMatch:
		return []string{""}, true
	case resyntax.OpLiteral:
		return []string{string(re.Rune)}, re.Flags&resyntax.FoldCase == 0
	case resyntax.OpCharClass:
		var list []string
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if list = append(list, string(r)); len(list) > maxAlternatives {
					return nil, false
				}
			}
		}
		return list, true
	case resyntax.OpCapture:
		return literals(re.Sub[0])
	case resyntax.OpConcat:
		return product(re.Sub)
	case resyntax.OpAlternate:
		var list []string
		for _, s := range re.Sub {
			more, ok := literals(s)
			if !ok || len(list)+len(more) > maxAlternatives {
				return nil, false
			}
			list = append(list, more...)
		}
		return list, true
	}
	return nil, false
}

func product(sub []*resyntax.Regexp) ([]string, bool) {
	list := []string{""}
	for _, s := range sub {
		more, ok := literals(s)
		if !ok || len(list)*len(more) > maxAlternatives {
			return nil, false
		}
		var next []string
		for _, a := range list {
			for _, b := range more {
				next = append(next, a+b)
			}
		}
		list = next
	}
	return list, true
}
