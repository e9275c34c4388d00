package pipeline

import (
	"bytes"

	"github.com/stele-go/stele/logql/internal/ipmatch"
	"github.com/stele-go/stele/logql/internal/pattern"
)

// containsStep is |= "text", or != "text".
type containsStep struct {
	text []byte
	want bool
}

func (s *containsStep) run(r *Run) bool { return bytes.Contains(r.Line, s.text) == s.want }

// lineFilter is any other line filter.
type lineFilter struct {
	tests    []lineTest
	negative bool
}

func (s *lineFilter) run(r *Run) bool {
	for _, t := range s.tests {
		if t.match(r) {
			return !s.negative
		}
	}
	return s.negative
}

// A lineTest is one of the texts of a line filter.
type lineTest interface{ match(r *Run) bool }

type containsTest []byte

func (t containsTest) match(r *Run) bool { return bytes.Contains(r.Line, t) }

// regexpTest is where a Run has the Searcher.
type regexpTest int

func (t regexpTest) match(r *Run) bool { return r.searchers[t].Match(r.Line) }

type patternTest struct{ *pattern.Pattern }

func (t patternTest) match(r *Run) bool { return t.Match(r.Line) }

type ipTest struct{ *ipmatch.Matcher }

func (t ipTest) match(r *Run) bool { return t.MatchIn(r.Line) }
