// Package reference answers LogQL queries slowly and obviously: each moment of a metric
// query on its own, over entries in a slice. Random tests compare the engine with it. It shares
// the tree of package syntax with the engine and nothing else; it is written from the documentation of the
// language, and where that is silent from what Loki answers.
//
// Not there: rate_counter and approx_topk.
package reference

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stele-go/stele/logql/syntax"
)

// Labels are names and values. A label with an empty value is not a missing one.
type Labels map[string]string

// Key returns the labels as text, ordered by name.
func (l Labels) Key() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l)) {
		fmt.Fprintf(&b, "%s=%q,", name, l[name])
	}
	return b.String()
}

// An Entry is a line with its stream.
type Entry struct {
	Time     int64
	Stream   Labels
	Metadata Labels
	Line     string
}

// A Line is one line of a result, with all its labels but __error_details__.
type Line struct {
	Time   int64
	Text   string
	Labels Labels
}

// ErrPipeline is that a metric query counts a line that a stage could not work with.
var ErrPipeline = errors.New("a line has __error__")

// ErrMatching is that an operator finds several series for one.
var ErrMatching = errors.New("several series match")

// ErrUnsupported is that the query has what this package has not.
var ErrUnsupported = errors.New("not in the reference")

// Lines answers a log query over entries with start <= time < end. Without a limit it is 0.
func Lines(q *syntax.LogExpr, entries []Entry, start, end int64, backward bool, limit int) ([]Line, error) {
	var lines []Line
	for _, e := range entries {
		if e.Time < start || e.Time >= end {
			continue
		}
		if s := process(q, e); s != nil {
			if s.unsupported {
				return nil, ErrUnsupported
			}
			lines = append(lines, Line{e.Time, s.text, s.result()})
		}
	}
	slices.SortStableFunc(lines, func(a, b Line) int {
		if backward {
			a, b = b, a
		}
		return cmp.Compare(a.Time, b.Time)
	})
	if limit > 0 && len(lines) > limit {
		lines = lines[:limit]
	}
	return lines, nil
}

// A state is a line on its way through the stages.
type state struct {
	text   string
	labels Labels
	// own are the names of the labels of the stream, metadata those of metadata that are still
	// there: parsers add _extracted to them.
	own, metadata map[string]bool
	// extracted are the labels that parsers have found: the first one keeps it.
	extracted map[string]bool
	err       string
	// unsupported is that a template has functions that are not here.
	unsupported bool
}

// result returns the labels, with that of the error.
func (s *state) result() Labels {
	l := maps.Clone(s.labels)
	if s.err != "" {
		l["__error__"] = s.err
	}
	return l
}

// taken reports whether parsers add _extracted to a name.
func (s *state) taken(name string) bool { return s.own[name] || s.metadata[name] }

// set makes a label that is no metadata any more.
func (s *state) set(name, value string) {
	s.labels[name] = value
	delete(s.metadata, name)
}

// remove takes a label away.
func (s *state) remove(name string) {
	delete(s.labels, name)
	delete(s.metadata, name)
}

func (s *state) get(name string) (string, bool) {
	if name == "__error__" {
		return s.err, s.err != ""
	}
	v, ok := s.labels[name]
	return v, ok
}

// fail notes an error. That of a parser or a template stays, whatever was before.
func (s *state) fail(kind string) { s.err = kind }

// process runs the selector and the stages over an entry; nil means that it does not
// pass.
func process(q *syntax.LogExpr, e Entry) *state {
	for _, m := range q.Matchers {
		if !matches(m, e.Stream[m.Name]) {
			return nil
		}
	}
	s := &state{text: e.Line, labels: Labels{}, own: map[string]bool{}, metadata: map[string]bool{}, extracted: map[string]bool{}}
	for name, value := range e.Stream {
		s.labels[name] = value
		s.own[name] = true
	}
	for name, value := range e.Metadata {
		if _, ok := e.Stream[name]; ok {
			name += "_extracted"
		}
		s.labels[name] = value
		s.metadata[name] = true
	}
	for _, stage := range q.Stages {
		if !s.stage(stage) {
			return nil
		}
		if s.unsupported {
			return s
		}
	}
	return s
}

// matches reports whether a value meets a matcher.
func matches(m syntax.Matcher, value string) bool {
	switch m.Op {
	case syntax.Equal:
		return value == m.Value
	case syntax.NotEqual:
		return value != m.Value
	}
	return anchored(m.Value).MatchString(value) == (m.Op == syntax.Matches)
}

func anchored(re string) *regexp.Regexp { return regexp.MustCompile("^(?s:" + re + ")$") }
