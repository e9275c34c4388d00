package logstore

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logstore/internal/labelindex"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A MatchOp is the comparison of a Matcher.
type MatchOp uint8

const (
	Equal      MatchOp = iota // the value is the same
	NotEqual                  // it is not
	Matches                   // the whole value matches the regular expression
	NotMatches                // it does not
)

func (o MatchOp) String() string {
	if int(o) < len(operators) {
		return operators[o]
	}
	return fmt.Sprintf("MatchOp(%d)", uint8(o))
}

var operators = [...]string{"=", "!=", "=~", "!~"}

// A Matcher is a condition on the value of one label. A missing label has the
// value "". Match makes a Matcher with its regular expression compiled; that of
// a composite literal is compiled each time it is used.
type Matcher struct {
	Name  string
	Op    MatchOp
	Value string
	re    *regexp.Regexp
}

// Match makes a Matcher. It returns an error for an invalid regular expression,
// whose syntax is that of package regexp; a dot also matches a newline. So it does for
// one that takes more than 4 MiB when it is compiled, at about 48 bytes an instruction, where
// package regexp accepts 128 MiB: `x{1000}` has 1,000 instructions.
func Match(name string, op MatchOp, value string) (Matcher, error) {
	return Matcher{Name: name, Op: op, Value: value}.compile()
}

func (m Matcher) compile() (Matcher, error) {
	if err := m.check(); err != nil || m.Op < Matches || m.re != nil {
		return m, err
	}
	var err error
	m.re, err = m.program(maxProgram, false)
	return m, err
}

// check returns an error for a wrong name or operator.
func (m Matcher) check() error {
	switch {
	case m.Name == "":
		return fmt.Errorf("logstore: Matcher.Name: empty; want the name of a label: %w", ErrLabels)
	case int(m.Op) >= len(operators):
		return setting.Wrong("logstore: Matcher.Op of "+m.Name, uint8(m.Op), "Equal, NotEqual, Matches or NotMatches")
	}
	return nil
}

func (m Matcher) wrong(err error) error {
	return fmt.Errorf("logstore: matcher of %s: %w", m.Name, err)
}

func (m Matcher) String() string {
	return fmt.Sprintf("%s%s%q", appendName(nil, m.Name), m.Op, m.Value)
}

// positive reports whether the operator is not a negation.
func (m Matcher) positive() bool { return m.Op == Equal || m.Op == Matches }

// matches reports whether a value meets the condition. m is compiled.
func (m Matcher) matches(value string) bool {
	if m.Op < Matches {
		return (value == m.Value) == m.positive()
	}
	return m.re.MatchString(value) == m.positive()
}

// literals returns the values that the condition names, if they are few: that
// of Equal and NotEqual, or those of a regular expression that is a literal or
// an alternation of literals.
func (m Matcher) literals() (values []string, only bool) {
	if m.Op < Matches {
		return []string{m.Value}, true
	}
	tree, err := syntax.Parse(m.Value, syntax.Perl|syntax.DotNL)
	if err != nil || !literal(tree) {
		return nil, false
	}
	var a analysis
	p := a.part(tree)
	if p.exact == nil || a.folds {
		return nil, false
	}
	slices.Sort(p.exact)
	return slices.Compact(p.exact), true
}

// literal reports whether no part of an expression depends on its context, as
// the beginning of a line does.
func literal(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpEmptyMatch, syntax.OpCharClass, syntax.OpCapture, syntax.OpConcat, syntax.OpAlternate, syntax.OpQuest:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !literal(sub) })
	}
	return false
}

// A Selector selects the streams that meet all its conditions.
type Selector []Matcher

func (sel Selector) String() string {
	b := []byte{'{'}
	for i, m := range sel {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, m.String()...)
	}
	return string(append(b, '}'))
}

func (sel Selector) compile() (Selector, error) {
	sel = slices.Clone(sel)
	for i, m := range sel {
		var err error
		if sel[i], err = m.compile(); err != nil {
			return nil, err
		}
	}
	return sel, nil
}

// matches reports whether a stream is selected. sel is compiled.
func (sel Selector) matches(l Labels) bool {
	for _, m := range sel {
		if !m.matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

// streams returns the selected streams of a space of memory; nil is all of them.
// sel is compiled.
func (sel Selector) streams(x *labelindex.Index, space uint32) *roaring.Bitmap {
	if len(sel) == 0 && x.LenOf(space) == x.Len() {
		return nil
	}
	var conditions []labelindex.Condition
	var choices []Matcher
	for _, m := range sel {
		c := labelindex.Condition{Name: m.Name, Not: !m.positive()}
		values, only := m.literals()
		switch {
		case only && len(values) == 1:
			c.Value = values[0]
		case only:
			choices = append(choices, m)
			continue
		case m.Value == ".+":
			c.Not = !c.Not // of the empty value
		default:
			c.Match = m.re.MatchString
		}
		conditions = append(conditions, c)
	}
	set := x.Select(space, conditions...)
	for _, m := range choices {
		// By postings, so that no value is compared with an expression.
		values, _ := m.literals()
		meant := roaring.New()
		for _, v := range values {
			meant.Or(x.Select(space, labelindex.Condition{Name: m.Name, Value: v}))
		}
		if m.positive() {
			set.And(meant)
		} else {
			set.AndNot(meant)
		}
	}
	return set
}

// conditions returns the selector for segments. sel is compiled.
func (sel Selector) conditions() []segment2.Condition {
	list, _ := sel.conditionsMatching()
	return list
}

// conditionsMatching is conditions, with what they remember.
func (sel Selector) conditionsMatching() (_ []segment2.Condition, matching []*valueMatches) {
	list := make([]segment2.Condition, len(sel))
	for i, m := range sel {
		c := segment2.Condition{Name: m.Name, Not: !m.positive()}
		values, only := m.literals()
		switch {
		case only:
			c.Values = values
		case m.Value == ".+":
			c.Values, c.Not = []string{""}, !c.Not
		default:
			v := &valueMatches{re: m.re}
			c.Match, c.Key = v.match, m.Value
			matching = append(matching, v)
		}
		list[i] = c
	}
	return list, matching
}

// valueMatches remembers which values an expression matches: most segments have
// the same ones.
type valueMatches struct {
	re *regexp.Regexp

	mu      sync.RWMutex
	matches map[string]bool
	bytes   int          // of the values
	budget  *matchBudget // or nil; see shareWith
	closed  bool
}

// maxMatchesBytes bounds the values of valueMatches. A name with more of them
// has mostly values that few segments share.
const maxMatchesBytes = 256 << 10

func (v *valueMatches) match(value string) bool {
	v.mu.RLock()
	matches, known := v.matches[value]
	v.mu.RUnlock()
	if known {
		return matches
	}
	matches = v.re.MatchString(value)
	v.mu.Lock()
	defer v.mu.Unlock()
	const entry = 48 // bytes, about, beside the value
	n := len(value) + entry
	if !v.closed && v.bytes+n <= maxMatchesBytes && (v.budget == nil || v.budget.take(int64(n))) {
		if v.matches == nil {
			v.matches = map[string]bool{}
		}
		v.bytes += n
		v.matches[strings.Clone(value)] = matches
	}
	return matches
}
