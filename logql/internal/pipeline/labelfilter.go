package pipeline

import (
	"errors"

	"github.com/stele-go/stele/logql/internal/ipmatch"
	"github.com/stele-go/stele/logql/internal/match"
	"github.com/stele-go/stele/logql/syntax"
)

// verdict is what is known of a predicate from the labels of a stream.
type verdict uint8

const (
	unknown verdict = iota
	yes
	no
)

func verdictOf(b bool) verdict {
	if b {
		return yes
	}
	return no
}

// A predicate is a compiled condition on labels.
type predicate interface {
	// test reports whether the line meets the condition. A value that is none of the kind
	// that the condition is about is an error of the line, which passes.
	test(r *Run) bool
	// decide returns what is known of all lines of the stream.
	decide(r *Run) verdict
}

type labelFilter struct{ predicate predicate }

func (s *labelFilter) run(r *Run) bool { return s.predicate.test(r) }

func (p *Pipeline) compileLabelFilter(s *syntax.LabelFilter) (step, error) {
	c, err := p.compilePredicate(s.Predicate)
	return &labelFilter{c}, err
}

func (p *Pipeline) compilePredicate(x syntax.Predicate) (predicate, error) {
	switch x := x.(type) {
	case *syntax.And:
		return p.compileBoth(x.Left, x.Right, func(a, b predicate) predicate { return &and{a, b} })
	case *syntax.Or:
		return p.compileBoth(x.Left, x.Right, func(a, b predicate) predicate { return &or{a, b} })
	case *syntax.TextPredicate:
		m, err := p.compileMatcher(x.Matcher)
		return &textPredicate{m}, at(x.Place(), err)
	case *syntax.NumberPredicate:
		return &valuePredicate{id: p.need(x.Name), op: x.Op, kind: numbers, number: x.Value}, nil
	case *syntax.DurationPredicate:
		return &valuePredicate{id: p.need(x.Name), op: x.Op, kind: durations, duration: x.Value}, nil
	case *syntax.BytesPredicate:
		return &valuePredicate{id: p.need(x.Name), op: x.Op, kind: sizes, bytes: x.Value}, nil
	case *syntax.IPPredicate:
		// It passes lines that have an error.
		p.need(errorName)
		m, err := ipmatch.Compile(x.Value)
		return &ipPredicate{p.need(x.Name), m, x.Negate}, at(x.Place(), err)
	}
	return nil, errors.New("a condition that is not known here")
}

func (p *Pipeline) compileBoth(left, right syntax.Predicate, join func(a, b predicate) predicate) (predicate, error) {
	a, err := p.compilePredicate(left)
	if err != nil {
		return nil, err
	}
	b, err := p.compilePredicate(right)
	return join(a, b), err
}

type and struct{ left, right predicate }

func (p *and) test(r *Run) bool { return p.left.test(r) && p.right.test(r) }

func (p *and) decide(r *Run) verdict {
	a, b := p.left.decide(r), p.right.decide(r)
	switch {
	case a == no || b == no:
		return no
	case a == yes && b == yes:
		return yes
	}
	return unknown
}

type or struct{ left, right predicate }

func (p *or) test(r *Run) bool { return p.left.test(r) || p.right.test(r) }

func (p *or) decide(r *Run) verdict {
	a, b := p.left.decide(r), p.right.decide(r)
	switch {
	case a == yes:
		return yes
	case a == no && b == no:
		return no
	}
	return unknown
}

// A matcher is a compiled syntax.Matcher.
type matcher struct {
	id    int32
	op    syntax.MatchOp
	value string
	whole int // where a Run has the Searcher of =~ and !~
}

func (p *Pipeline) compileMatcher(m syntax.Matcher) (matcher, error) {
	c := matcher{id: p.need(m.Name), op: m.Op, value: m.Value}
	if m.Op == syntax.Matches || m.Op == syntax.NotMatches {
		if m.Value == "" {
			m.Value = "(?s:.*)" // in Loki the empty expression matches everything
		}
		re, err := match.CompileWhole(m.Value)
		if err != nil {
			return matcher{}, err
		}
		c.whole = p.matcher(re)
	}
	return c, nil
}

// matches compares the value of the label, which is empty if the line has none.
func (m *matcher) matches(r *Run, value []byte) bool {
	switch m.op {
	case syntax.Equal:
		return string(value) == m.value
	case syntax.NotEqual:
		return string(value) != m.value
	case syntax.Matches:
		return r.searchers[m.whole].Match(value)
	}
	return !r.searchers[m.whole].Match(value)
}

type textPredicate struct{ matcher }

func (p *textPredicate) test(r *Run) bool {
	value, _ := r.set.get(p.id)
	return p.matches(r, value)
}

func (p *textPredicate) decide(r *Run) verdict {
	if r.set.names[p.id].base == 0 {
		return unknown // metadata may have it
	}
	return verdictOf(p.test(r))
}

type ipPredicate struct {
	id     int32
	ip     *ipmatch.Matcher
	negate bool
}

func (p *ipPredicate) test(r *Run) bool {
	if r.failed() {
		return true
	}
	value, ok := r.set.get(p.id)
	return ok && p.ip.MatchIn(value) != p.negate
}

func (p *ipPredicate) decide(r *Run) verdict {
	if r.mayFail || r.set.names[p.id].base == 0 {
		return unknown
	}
	return verdictOf(p.test(r))
}
