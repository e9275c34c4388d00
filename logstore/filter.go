package logstore

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"regexp"
	"slices"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A Filter selects entries by line and metadata. The functions below make
// filters; many queries may use one at once.
type Filter interface {
	// Match reports whether the entry matches.
	Match(line []byte, metadata Labels) bool
	compiled() *condition
}

// A condition is the implementation of every Filter.
type condition struct {
	// match is Match with metadata as queries have it: encoded, and perhaps
	// from a damaged file.
	match   func(line, meta []byte) bool
	require requirement
	// test, unless nil, is what is known of lines by their templates, and of blocks by their
	// filters. nil: nothing.
	test *template.Expr
	// text tests many lines at once, see chunkFilter.
	text textTest
	// any, unless nil, are texts of which a line that matches has one or more. If exact,
	// any other line does not match.
	any   literals
	exact bool
	// bare, unless nil, is any for entries without metadata, where it is more than any. If
	// void, no such entry matches.
	bare literals
	void bool
	// begin, unless nil, makes what matches in the place of match: more than a line and
	// its metadata decide.
	begin func() matcher
	// fields, unless nil, tells by fields of lines what matches.
	fields *fieldTest
	// lineless: metadata alone decide.
	lineless bool
	cost     testCost
}

// testCost orders the tests of one entry.
type testCost uint8

const (
	costLiteral testCost = iota
	costText             // more than a search for bytes
	costRegexp
	costCaller
)

func (c *condition) Match(line []byte, metadata Labels) bool {
	return c.match(line, []byte(metadata.enc))
}

func (c *condition) compiled() *condition { return c }

// Contains matches lines that contain s.
func Contains(s string) Filter {
	b := []byte(s)
	return &condition{
		match:   func(line, _ []byte) bool { return bytes.Contains(line, b) },
		require: requireAll(filter.Substring(b)),
		test:    hasText(s, template.Bytes),
		text:    literalTest(b),
		any:     newLiterals(b),
		exact:   true,
	}
}

// ContainsFold is Contains under Unicode case folding: letters are equal if
// unicode.SimpleFold leads from one to the other.
func ContainsFold(s string) Filter {
	b := []byte(s)
	return &condition{
		match:   func(line, _ []byte) bool { return filter.ContainsFold(line, b) },
		require: requireAll(filter.Substring(b)),
		test:    hasText(s, template.Folded),
		cost:    costText,
	}
}

// Word matches lines that contain s as a whole word: no end of s is between two
// letters, digits or marks. In scripts written without spaces, such as Chinese,
// Word is like Contains. It finds rare words faster than Contains, as the index
// has words and not their parts.
func Word(s string) Filter {
	b := []byte(s)
	return &condition{
		match:   func(line, _ []byte) bool { return filter.HasWord(line, b, false) },
		require: requireAll(filter.Word(b)),
		test:    hasText(s, template.Word),
		text:    literalTest(b),
		any:     newLiterals(b),
		cost:    costText,
	}
}

// Regexp matches lines that re matches, anywhere. Literal text that every match
// must contain is looked up in the index. The memory of re, up to 128 MiB for a text of
// some KB, is the caller's; Match bounds those of a Matcher.
func Regexp(re *regexp.Regexp) Filter {
	c, literal := regexpCondition(re.String(), re.Match)
	if len(literal) > 0 {
		c.match = func(line, _ []byte) bool { return bytes.Contains(line, literal) && re.Match(line) }
	}
	return c
}

// RegexpFunc is Regexp for the expression expr of a caller that has a test of its own, which is
// faster, or needs less memory: match returns what Match of a regexp.Regexp of expr does, for a line
// or a part of one. Where it pays to look for literal text first, match does. The text is valid during
// the call only. Several goroutines call match at once.
func RegexpFunc(expr string, match func(text []byte) bool) Filter {
	c, _ := regexpCondition(expr, match)
	return c
}

// regexpCondition returns the condition of a regular expression, and a text that each match has
// byte by byte, unless it is empty.
func regexpCondition(expr string, match func(text []byte) bool) (c *condition, literal []byte) {
	n := required(expr)
	c = &condition{require: n.need.requirement(), test: n.need.test(), cost: costRegexp}
	c.match = func(line, _ []byte) bool { return match(line) }
	if !n.exact {
		c.test = template.RegexpFunc(c.test, expr, match)
	}
	if len(n.literal) > 0 {
		c.text, c.any = literalTest(n.literal), newLiterals(n.literal)
	}
	return c, n.literal
}

// MetadataMatches matches entries whose metadata meet the condition.
func MetadataMatches(m Matcher) (Filter, error) {
	m, err := m.compile()
	if err != nil {
		return nil, err
	}
	c := &condition{match: func(_, meta []byte) bool { return m.matches(metadataValue(meta, m.Name)) }, void: !m.matches(""), lineless: true, cost: costText}
	if values, only := m.literals(); only && m.positive() {
		// The filter of a block has each value as a text of its own.
		var any []requirement
		var tests []*template.Expr
		for _, v := range values {
			n := filter.Word([]byte(v))
			any, tests = append(any, requireAll(n)), append(tests, template.Indexed(n.OfVariables()))
		}
		c.require = requireAny(any...)
		if len(any) > 0 {
			c.test = template.Any(tests...)
		}
	}
	return c, nil
}

// Not matches entries that f does not.
func Not(f Filter) Filter {
	c := f.compiled()
	not := &condition{match: func(line, meta []byte) bool { return !c.match(line, meta) }, test: template.Not(c.lineTest()), lineless: c.lineless, cost: c.cost}
	if c.begin != nil {
		not.begin = func() matcher { return &notMatcher{of: c.begin()} }
	}
	return not
}

// All matches entries that all filters match; without filters, every entry. An entry is
// tested for literal text first, and then for words, for regular expressions, and by
// functions of the caller; by filters of a kind in the order of filters.
func All(filters ...Filter) Filter {
	list := byCost(filters)
	c := &condition{match: func(line, meta []byte) bool {
		for _, c := range list {
			if !c.match(line, meta) {
				return false
			}
		}
		return true
	}, exact: len(list) == 1, lineless: true}
	var texts []textTest
	var tests []*template.Expr
	for _, of := range list {
		texts, tests = append(texts, of.text), append(tests, of.lineTest())
		c.require = c.require.and(of.require)
		c.any = c.any.better(of.any)
		c.bare = c.bare.better(of.withoutMetadata())
		c.void = c.void || of.void
		c.exact = c.exact && of.exact
		c.lineless = c.lineless && of.lineless
		c.cost = max(c.cost, of.cost)
	}
	c.text, c.test = allTests(texts), template.All(tests...)
	if needsEntries(list) {
		c.begin, c.fields = func() matcher { return allMatcher(matchers(list)) }, allFields(list)
	}
	return c
}

// Any matches entries that at least one of filters matches; without filters, no
// entry. The order of tests is that of All.
func Any(filters ...Filter) Filter {
	list := byCost(filters)
	c := &condition{match: func(line, meta []byte) bool {
		for _, c := range list {
			if c.match(line, meta) {
				return true
			}
		}
		return false
	}, exact: true, lineless: true}
	var texts []textTest
	var needs []requirement
	var literals, bare []literals
	var tests []*template.Expr
	c.void = len(list) > 0
	for _, of := range list {
		texts, tests = append(texts, of.text), append(tests, of.lineTest())
		needs = append(needs, of.require)
		literals = append(literals, of.any)
		if !of.void {
			bare = append(bare, of.withoutMetadata())
		}
		c.void = c.void && of.void
		c.exact = c.exact && of.exact
		c.lineless = c.lineless && of.lineless
		c.cost = max(c.cost, of.cost)
	}
	c.text, c.require, c.test = anyTest(texts), requireAny(needs...), template.Any(tests...)
	c.any, c.bare = joinLiterals(literals), joinLiterals(bare)
	if needsEntries(list) {
		c.begin = func() matcher { return &anyMatcher{of: matchers(list)} }
	}
	return c
}

// lineTest returns test, or one that tells nothing.
func (c *condition) lineTest() *template.Expr {
	if c.test == nil {
		return template.Opaque(nil, nil)
	}
	return c.test
}

// withoutMetadata returns any for entries without metadata.
func (c *condition) withoutMetadata() literals {
	if c.bare != nil {
		return c.bare
	}
	return c.any
}

// compiledOf returns the condition of a filter, nil if that is nil.
func compiledOf(f Filter) *condition {
	if f == nil {
		return nil
	}
	return f.compiled()
}

// byCost returns the conditions of filters, the cheapest first.
func byCost(filters []Filter) []*condition {
	list := make([]*condition, len(filters))
	for i, f := range filters {
		list[i] = f.compiled()
	}
	slices.SortStableFunc(list, func(a, b *condition) int { return cmp.Compare(a.cost, b.cost) })
	return list
}

// LineFunc matches entries for whose lines f returns true. The line is valid during
// the call only. Several goroutines call f at once.
func LineFunc(f func(line []byte) bool) Filter {
	return &condition{cost: costCaller, match: func(line, _ []byte) bool { return f(line) }}
}

// Func matches entries for which f returns true. Line and metadata are valid during
// the call only. Several goroutines call f at once. EntryFilter gives each of them a
// state of its own, and knows stream and time.
func Func(f func(line []byte, metadata Labels) bool) Filter {
	return &condition{cost: costCaller, match: func(line, meta []byte) bool {
		var view metadataView
		metadata, err := view.set(meta)
		return err == nil && f(line, metadata)
	}}
}

// metadataValue returns the named value of encoded labels, which may come from
// a damaged file; "" if it is not there.
func metadataValue(enc []byte, name string) string {
	for len(enc) > 0 {
		var pair [2][]byte
		for i := range pair {
			n, w := binary.Uvarint(enc)
			if w <= 0 || n > uint64(len(enc)-w) {
				return ""
			}
			pair[i], enc = enc[w:w+int(n)], enc[w+int(n):]
		}
		if string(pair[0]) == name {
			return string(pair[1])
		}
	}
	return ""
}
