// Package prefilter finds what the store can test of the stages of a query: conditions on a
// line that the store looks up in its index, and tests on many lines at once.
//
// A condition is exact, and then takes the place of the stage, or it is necessary: lines that
// pass the stages meet it, others may too. What a label filter needs of a line is only ever
// necessary: see labels.go.
package prefilter

import (
	"regexp"

	"github.com/stele-go/stele/logql/internal/match"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A Split is what the store tests, and what the pipeline still has to.
type Split struct {
	Filter logstore.Filter // nil if the store tests nothing
	// Must is the part of Filter that takes the place of stages, Needs is the rest. Either is nil
	// if there is nothing of it.
	Must, Needs logstore.Filter
	// Rest are the stages that are left for the pipeline.
	Rest []syntax.Stage
	// Exact and Needed say what Filter tests, in words: conditions in the place of
	// stages, and those that lines of later stages must meet.
	Exact, Needed []string
	shared        []*match.Shared // of Filter
	// Scanned are those of Exact and Needed of which the index knows nothing.
	Scanned []string
}

// Of splits stages. streamHas reports whether a selected stream may have the named label:
// then a label filter on it says nothing about the line. grow is that of dfa.New, for the
// automata of Filter: see Release.
func Of(stages []syntax.Stage, streamHas func(label string) bool, grow func(bytes int64) bool) Split {
	s := splitter{streamHas: streamHas, grow: grow, defined: map[string]bool{}}
	for _, stage := range stages {
		s.stage(stage)
	}
	out := Split{Rest: s.rest, Exact: texts(s.exact), Needed: texts(s.needed), shared: s.shared}
	var all []logstore.Filter
	for _, c := range append(s.exact, s.needed...) {
		f := c.filter()
		if !logstore.Indexed(f) {
			out.Scanned = append(out.Scanned, c.String())
		}
		all = append(all, f)
	}
	out.Filter = allFilters(all)
	out.Must, out.Needs = allFilters(all[:len(s.exact)]), allFilters(all[len(s.exact):])
	return out
}

// Release gives back what grow has allowed. No goroutine uses Filter meanwhile.
func (s *Split) Release() {
	for _, m := range s.shared {
		m.Release()
	}
}

func allFilters(list []logstore.Filter) logstore.Filter {
	if len(list) == 0 {
		return nil
	}
	return logstore.All(list...)
}

func texts(list []condition) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.String())
	}
	return out
}

// splitter walks over stages in their order.
type splitter struct {
	streamHas func(label string) bool
	grow      func(bytes int64) bool
	shared    []*match.Shared
	exact     []condition
	needed    []condition
	rest      []syntax.Stage

	lineChanged bool            // the line is not that of the store any more
	parsers     []parser        // that labels may come from
	opaque      bool            // labels may come from a changed line
	defined     map[string]bool // labels that label_format sets
	extracts    bool            // a parser gives fields other names
	keepEmpty   bool            // | logfmt --keep-empty is among parsers
}

// A parser is how labels get their values from a line.
type parser uint8

const (
	parsesJSON parser = iota
	parsesLogfmt
	parsesRaw // values are parts of the line as they are
)

func (s *splitter) stage(stage syntax.Stage) {
	keep := true
	switch n := stage.(type) {
	case *syntax.LineFilter:
		keep = s.lineFilter(n)
	case *syntax.LabelFilter:
		if c, ok := s.predicate(n.Predicate); ok {
			s.needed = append(s.needed, c)
		}
	case *syntax.JSON:
		s.parse(parsesJSON)
		s.extracts = s.extracts || len(n.Extractions) > 0
	case *syntax.Logfmt:
		s.parse(parsesLogfmt)
		s.keepEmpty = s.keepEmpty || n.KeepEmpty
		s.extracts = s.extracts || len(n.Extractions) > 0
	case *syntax.Regexp, *syntax.Pattern:
		s.parse(parsesRaw)
	case *syntax.Unpack:
		s.parse(parsesJSON)
		s.lineChanged = true
	case *syntax.LineFormat, *syntax.Decolorize:
		s.lineChanged = true
	case *syntax.LabelFormat:
		for _, item := range n.Items {
			s.defined[item.Name] = true
		}
	}
	if keep {
		s.rest = append(s.rest, stage)
	}
}

func (s *splitter) parse(p parser) {
	s.parsers = append(s.parsers, p)
	s.opaque = s.opaque || s.lineChanged
}

// lineFilter takes over what it can, and reports whether the pipeline must still test it.
func (s *splitter) lineFilter(n *syntax.LineFilter) (keep bool) {
	if s.lineChanged {
		return true
	}
	var list []condition
	exact := true
	for _, t := range n.Texts {
		c, whole := s.lineText(n.Op&^1, t)
		if c == nil && whole {
			// Every line has it.
			return n.Op.Negative()
		}
		if c == nil {
			return true
		}
		exact = exact && whole
		list = append(list, c)
	}
	c := anyOf(list)
	switch {
	case n.Op.Negative() && !exact:
		return true
	case n.Op.Negative():
		s.exact = append(s.exact, not{c})
	case exact:
		s.exact = append(s.exact, c)
	default:
		s.needed = append(s.needed, c)
		return true
	}
	return false
}

// lineText returns what a line needs for op, which is not negative, to find t. whole tells
// that it needs nothing else. The condition is nil if nothing is known, or, with whole, if
// every line has it.
func (s *splitter) lineText(op syntax.LineOp, t syntax.LineText) (c condition, whole bool) {
	switch {
	case t.IP:
		return nil, false
	case op == syntax.LineContains && t.Text == "":
		return nil, true
	case op == syntax.LineContains:
		return contains(t.Text), true
	case op == syntax.LineMatches:
		return s.regexpNeeds(t.Text)
	}
	return patternNeeds(t.Text)
}

// captures are what a pattern does not say, named or not.
var captures = regexp.MustCompile(`<[a-zA-Z0-9_]*>`)

// patternNeeds returns the literals between the captures of a line pattern.
func patternNeeds(pattern string) (condition, bool) {
	var list []condition
	for _, part := range captures.Split(pattern, -1) {
		if part != "" {
			list = append(list, contains(part))
		}
	}
	return allOf(list), false
}
