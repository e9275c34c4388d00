// Package match tells whether lines match a regular expression of package regexp, with
// the same results, and the sooner the less of an expression there is to it: an
// expression that is a text, or one of a few, is searched for as such, one whose
// matches must contain a text is tried only on lines that have it, and what is left runs
// on an automaton.
package match

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"sync"

	"github.com/stele-go/stele/logql/internal/dfa"
)

// maxSearched is how many texts are searched for one after the other. More are left to the
// automaton, which takes the same time for any number.
const maxSearched = 6

type kind uint8

const (
	always   kind = iota // every line matches
	literals             // lines that have one of any
	equals               // lines that are one of any
	automaton
)

// A Matcher is a compiled expression. Many goroutines may use one at once.
type Matcher struct {
	pattern  string
	kind     kind
	any      [][]byte // for literals; for the automaton a requirement, unless empty
	program  *dfa.Program
	exact    []string
	requires [][]string

	regexp    func() *regexp.Regexp
	searchers sync.Pool
}

// Compile compiles an expression that may match any part of a line. The error is that of
// regexp.Compile.
func Compile(pattern string) (*Matcher, error) { return compile(pattern, pattern, false) }

// CompileWhole compiles an expression that must match the whole of a text, as those of label
// filters do.
func CompileWhole(pattern string) (*Matcher, error) {
	return compile(pattern, "^(?:"+pattern+")$", true)
}

func compile(given, pattern string, whole bool) (*Matcher, error) {
	// What is no expression by itself must not become one in parentheses.
	if _, err := syntax.Parse(given, syntax.Perl); err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	m := &Matcher{pattern: given, kind: automaton}
	m.regexp = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	if whole {
		m.setWhole(given)
		tree = tree.Simplify()
	} else {
		tree = trim(tree.Simplify())
	}
	p := analyse(tree.Simplify())
	m.requires = p.requirements()
	if m.kind == equals {
		return m, nil
	}
	if p.exact != nil && !whole {
		m.exact = withoutSuperfluous(p.exact)
		m.setExact()
	} else if c := best(m.requires); c != nil && len(c) <= maxSearched {
		m.any = toBytes(c)
	}
	if m.kind == automaton {
		m.program = dfa.Compile(tree)
	}
	m.searchers.New = func() any { return m.NewSearcher(nil) }
	return m, nil
}

// setWhole finds out whether an expression for whole texts is just a few of them.
func (m *Matcher) setWhole(pattern string) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return
	}
	if p := analyse(tree.Simplify()); p.exact != nil {
		m.kind, m.any = equals, toBytes(p.exact)
	}
}

func (m *Matcher) setExact() {
	switch {
	case len(m.exact) == 1 && m.exact[0] == "":
		m.kind = always
	case len(m.exact) <= maxSearched:
		m.kind, m.any = literals, toBytes(m.exact)
	}
}

func toBytes(texts []string) [][]byte {
	var all [][]byte
	for _, t := range texts {
		all = append(all, []byte(t))
	}
	return all
}

// trim cuts off parts at both ends that may match nothing: whether a line has a match does
// not depend on them.
func trim(re *syntax.Regexp) *syntax.Regexp {
	switch re.Op {
	case syntax.OpStar, syntax.OpQuest:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	case syntax.OpConcat:
		subs := re.Sub
		for len(subs) > 0 && optional(subs[0]) {
			subs = subs[1:]
		}
		for len(subs) > 0 && optional(subs[len(subs)-1]) {
			subs = subs[:len(subs)-1]
		}
		switch len(subs) {
		case 0:
			return &syntax.Regexp{Op: syntax.OpEmptyMatch}
		case 1:
			return trim(subs[0])
		}
		return &syntax.Regexp{Op: syntax.OpConcat, Flags: re.Flags, Sub: subs}
	case syntax.OpCapture:
		return trim(re.Sub[0])
	}
	return re
}

func optional(re *syntax.Regexp) bool { return re.Op == syntax.OpStar || re.Op == syntax.OpQuest }

// Match reports whether text has a match.
func (m *Matcher) Match(text []byte) bool {
	match, known := m.search(text)
	if known {
		return match
	}
	s := m.searchers.Get().(*Searcher)
	defer m.searchers.Put(s)
	return s.run(text)
}

// search returns whether text has a match where a search for texts tells.
func (m *Matcher) search(text []byte) (match, known bool) {
	switch m.kind {
	case always:
		return true, true
	case literals:
		return containsAny(text, m.any), true
	case equals:
		return equalsAny(text, m.any), true
	}
	return false, len(m.any) > 0 && !containsAny(text, m.any)
}

// Always reports whether every text matches.
func (m *Matcher) Always() bool { return m.kind == always }

// Exact returns the texts of an expression that matches exactly the lines that contain one of
// them, nil if it is no such expression.
func (m *Matcher) Exact() []string { return m.exact }

// Requires returns what a line must contain to have a match: of each element, one of the
// texts. It is nil if nothing is known. It may be too little, as that a line meets it does not
// say that it matches.
func (m *Matcher) Requires() [][]string { return m.requires }

// String returns the expression.
func (m *Matcher) String() string { return m.pattern }

// A Searcher is a Matcher for one goroutine, which need not wait for others.
type Searcher struct {
	m   *Matcher
	dfa *dfa.DFA
}

// NewSearcher returns a Searcher of m. grow is that of dfa.New.
func (m *Matcher) NewSearcher(grow func(bytes int64) bool) *Searcher {
	s := &Searcher{m: m}
	if m.kind == automaton && m.program != nil {
		s.dfa = dfa.New(m.program, grow)
	}
	return s
}

// Match reports whether text has a match.
func (s *Searcher) Match(text []byte) bool {
	if match, known := s.m.search(text); known {
		return match
	}
	return s.run(text)
}

// Release gives the memory of the automaton back. Match goes on without it, more slowly.
func (s *Searcher) Release() {
	if s.dfa != nil {
		s.dfa.Release()
		s.dfa = nil
	}
}

func (s *Searcher) run(text []byte) bool {
	if s.dfa != nil {
		if match, ok := s.dfa.Match(text); ok {
			return match
		}
		s.Release() // it needs too many states
	}
	return s.m.regexp().Match(text)
}

func containsAny(text []byte, any [][]byte) bool {
	for _, t := range any {
		if bytes.Contains(text, t) {
			return true
		}
	}
	return false
}

func equalsAny(text []byte, any [][]byte) bool {
	for _, t := range any {
		if bytes.Equal(text, t) {
			return true
		}
	}
	return false
}
