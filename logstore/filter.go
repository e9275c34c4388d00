package logstore

import (
	"bytes"
	"encoding/binary"
	"regexp"

	"github.com/stele-go/stele/logstore/internal/filter"
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
	// text tests many lines at once, see chunkFilter.
	text textTest
}

func (c *condition) Match(line []byte, metadata Labels) bool {
	return c.match(line, []byte(metadata.enc))
}

func (c *condition) compiled() *condition { return c }

// Contains matches lines that contain s.
func Contains(s string) Filter {
	b := []byte(s)
	return &condition{
		func(line, _ []byte) bool { return bytes.Contains(line, b) },
		requireAll(filter.Substring(b)),
		literalTest(b),
	}
}

// ContainsFold is Contains under Unicode case folding: letters are equal if
// unicode.SimpleFold leads from one to the other.
func ContainsFold(s string) Filter {
	b := []byte(s)
	return &condition{
		func(line, _ []byte) bool { return filter.ContainsFold(line, b) },
		requireAll(filter.Substring(b)),
		nil,
	}
}

// Word matches lines that contain s as a whole word: no end of s is between two
// letters, digits or marks. In scripts written without spaces, such as Chinese,
// Word is like Contains. It finds rare words faster than Contains, as the index
// has words and not their parts.
func Word(s string) Filter {
	b := []byte(s)
	return &condition{
		func(line, _ []byte) bool { return filter.HasWord(line, b, false) },
		requireAll(filter.Word(b)),
		literalTest(b),
	}
}

// Regexp matches lines that re matches, anywhere. Literal text that every match
// must contain is looked up in the index. The memory of re, up to 128 MiB for a text of
// some KB, is the caller's; Match bounds those of a Matcher.
func Regexp(re *regexp.Regexp) Filter {
	n, literal := required(re)
	if len(literal) == 0 {
		return &condition{func(line, _ []byte) bool { return re.Match(line) }, n, nil}
	}
	return &condition{
		func(line, _ []byte) bool { return bytes.Contains(line, literal) && re.Match(line) },
		n,
		literalTest(literal),
	}
}

// MetadataMatches matches entries whose metadata meet the condition.
func MetadataMatches(m Matcher) (Filter, error) {
	m, err := m.compile()
	if err != nil {
		return nil, err
	}
	c := &condition{match: func(_, meta []byte) bool { return m.matches(metadataValue(meta, m.Name)) }}
	if values, only := m.literals(); only && m.positive() {
		// The filter of a block has each value as a text of its own.
		var any []requirement
		for _, v := range values {
			any = append(any, requireAll(filter.Word([]byte(v))))
		}
		c.require = requireAny(any...)
	}
	return c, nil
}

// Not matches entries that f does not.
func Not(f Filter) Filter {
	wants := f.compiled().match
	return &condition{match: func(line, meta []byte) bool { return !wants(line, meta) }}
}

// All matches entries that all filters match; without filters, every entry.
// Filters are applied in order.
func All(filters ...Filter) Filter {
	var list []func(line, meta []byte) bool
	var literals []textTest
	var n requirement
	for _, f := range filters {
		c := f.compiled()
		list = append(list, c.match)
		literals = append(literals, c.text)
		n = n.and(c.require)
	}
	return &condition{func(line, meta []byte) bool {
		for _, wants := range list {
			if !wants(line, meta) {
				return false
			}
		}
		return true
	}, n, allTests(literals)}
}

// Any matches entries that at least one of filters matches; without filters, no
// entry.
func Any(filters ...Filter) Filter {
	var list []func(line, meta []byte) bool
	var literals []textTest
	var needs []requirement
	for _, f := range filters {
		c := f.compiled()
		list = append(list, c.match)
		literals = append(literals, c.text)
		needs = append(needs, c.require)
	}
	return &condition{func(line, meta []byte) bool {
		for _, wants := range list {
			if wants(line, meta) {
				return true
			}
		}
		return false
	}, requireAny(needs...), anyTest(literals)}
}

// Func matches entries for which f returns true. The line is valid during the
// call only. Several goroutines call f at once.
func Func(f func(line []byte, metadata Labels) bool) Filter {
	return &condition{match: func(line, meta []byte) bool {
		if len(meta) == 0 {
			return f(line, Labels{})
		}
		md, err := parseLabels(string(meta))
		return err == nil && f(line, md)
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
