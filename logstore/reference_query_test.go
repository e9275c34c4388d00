package logstore_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stele-go/stele/logstore"
)

// A refQuery is a query of the model test.
type refQuery struct {
	tenant   string
	selector []refMatcher
	filter   *refFilter
	from, to int64
	order    logstore.Order
	limit    int
}

func (q refQuery) end() int64 {
	if q.to == 0 {
		return math.MaxInt64
	}
	return q.to
}

func (q refQuery) selects(l logstore.Labels) bool {
	for _, m := range q.selector {
		if !m.match(l) {
			return false
		}
	}
	return true
}

func (q refQuery) build() (logstore.Query, error) {
	sel, err := buildSelector(q.selector)
	if err != nil {
		return logstore.Query{}, err
	}
	built := logstore.Query{Tenant: q.tenant, Selector: sel, From: q.from, To: q.to, Order: q.order, Limit: q.limit}
	if q.filter != nil {
		built.Filter, err = q.filter.build()
	}
	return built, err
}

func buildSelector(ms []refMatcher) (logstore.Selector, error) {
	var sel logstore.Selector
	for _, m := range ms {
		built, err := m.build()
		if err != nil {
			return nil, err
		}
		sel = append(sel, built)
	}
	return sel, nil
}

// A refMatcher is a condition on a label.
type refMatcher struct {
	name  string
	op    logstore.MatchOp
	value string
	re    *regexp.Regexp // of value, for Matches and NotMatches
}

func newMatcher(name string, op logstore.MatchOp, value string) refMatcher {
	m := refMatcher{name: name, op: op, value: value}
	if op == logstore.Matches || op == logstore.NotMatches {
		m.re = regexp.MustCompile("^(?s:" + value + ")$")
	}
	return m
}

func (m refMatcher) match(l logstore.Labels) bool {
	value := l.Get(m.name)
	switch m.op {
	case logstore.Equal:
		return value == m.value
	case logstore.NotEqual:
		return value != m.value
	}
	return m.re.MatchString(value) == (m.op == logstore.Matches)
}

func (m refMatcher) build() (logstore.Matcher, error) {
	return logstore.Match(m.name, m.op, m.value)
}

func (m refMatcher) String() string {
	return fmt.Sprintf("%s%s%q", m.name, [...]string{"=", "!=", "=~", "!~"}[m.op], m.value)
}

// A refFilter is a condition on an entry.
type refFilter struct {
	kind string // contains, fold, word, regexp, metadata, not, all, any, func
	text string
	re   *regexp.Regexp
	on   refMatcher // of metadata
	of   []*refFilter
}

func (f *refFilter) match(line string, metadata logstore.Labels) bool {
	switch f.kind {
	case "contains":
		return strings.Contains(line, f.text)
	case "fold":
		return containsFold(line, f.text)
	case "word":
		return containsWord(line, f.text)
	case "regexp":
		return f.re.MatchString(line)
	case "metadata":
		return f.on.match(metadata)
	case "func":
		return len(line)%2 == 0
	case "not":
		return !f.of[0].match(line, metadata)
	}
	for _, sub := range f.of {
		if sub.match(line, metadata) != (f.kind == "all") {
			return f.kind == "any"
		}
	}
	return f.kind == "all"
}

// containsFold compares rune by rune, at each place. text is UTF-8.
func containsFold(line, text string) bool {
	want := []rune(text)
	if len(want) == 0 {
		return true
	}
	for i, r := range line {
		if !strings.EqualFold(string(r), string(want[0])) {
			continue
		}
		rest := []rune(line[i:min(len(line), i+utf8.UTFMax*len(want))])
		if len(rest) >= len(want) && strings.EqualFold(string(rest[:len(want)]), text) {
			return true
		}
	}
	return false
}

// containsWord reports whether line has text without a word extending across
// either end.
func containsWord(line, text string) bool {
	for from := 0; from <= len(line); from++ {
		if strings.HasPrefix(line[from:], text) && !withinWord(line, from) && !withinWord(line, from+len(text)) {
			return true
		}
	}
	return false
}

// withinWord reports whether a word extends across line[at]. Scripts written
// without spaces have no words, only runes.
func withinWord(line string, at int) bool {
	if at == 0 || at == len(line) {
		return false
	}
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
	for start := at - 1; start >= max(0, at-utf8.UTFMax+1); start-- {
		if r, size := utf8.DecodeRuneInString(line[start:]); start+size > at {
			return inWord(r)
		}
	}
	before, _ := utf8.DecodeLastRuneInString(line[:at])
	behind, _ := utf8.DecodeRuneInString(line[at:])
	return inWord(before) && inWord(behind) && !unicode.In(before, withoutSpaces...) && !unicode.In(behind, withoutSpaces...)
}

// withoutSpaces lists the scripts without spaces that the test uses.
var withoutSpaces = []*unicode.RangeTable{unicode.Han, unicode.Thai}

func (f *refFilter) build() (logstore.Filter, error) {
	var of []logstore.Filter
	for _, sub := range f.of {
		built, err := sub.build()
		if err != nil {
			return nil, err
		}
		of = append(of, built)
	}
	switch f.kind {
	case "contains":
		return logstore.Contains(f.text), nil
	case "fold":
		return logstore.ContainsFold(f.text), nil
	case "word":
		return logstore.Word(f.text), nil
	case "regexp":
		return logstore.Regexp(f.re), nil
	case "metadata":
		m, err := f.on.build()
		if err != nil {
			return nil, err
		}
		return logstore.MetadataMatches(m)
	case "func":
		return logstore.Func(func(line []byte, _ logstore.Labels) bool { return len(line)%2 == 0 }), nil
	case "not":
		return logstore.Not(of[0]), nil
	case "all":
		return logstore.All(of...), nil
	}
	return logstore.Any(of...), nil
}

func (f *refFilter) String() string {
	switch f.kind {
	case "metadata":
		return fmt.Sprintf("metadata(%v)", f.on)
	case "func":
		return "even length"
	case "not", "all", "any":
		var of []string
		for _, sub := range f.of {
			of = append(of, sub.String())
		}
		return f.kind + "(" + strings.Join(of, ", ") + ")"
	}
	if f.re != nil {
		return fmt.Sprintf("regexp(%q)", f.re)
	}
	return fmt.Sprintf("%s(%q)", f.kind, f.text)
}
