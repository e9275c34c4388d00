package prefilter

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/logql/internal/units"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// comparison returns what a line needs for a label to meet a comparison: the name of the
// label with a value behind it that may meet it, or what is no such value: that is an error,
// which passes.
func (s *splitter) comparison(f field) (condition, bool) {
	if !s.known(f.name) || len(s.parsers) != 1 || s.parsers[0] == parsesRaw || s.extracts || strings.HasSuffix(f.name, "_extracted") {
		return nil, false
	}
	if f.key, f.joined = lastPart(f.name); f.key == "" {
		return nil, false
	}
	f.json, f.keepEmpty = s.parsers[0] == parsesJSON, s.keepEmpty
	return either{f, metadata{name: f.name, op: logstore.NotEqual}}, true
}

// lastPart returns with what the key of a field ends of which a parser makes a label: _ may
// be another character of the key, or join the names of nested ones. It returns "" if nothing
// is known; joined tells that there is more of the name.
func lastPart(name string) (key string, joined bool) {
	i := strings.LastIndexByte(name, '_')
	key = name[i+1:]
	for j := range len(key) {
		if c := key[j]; !isLetterOrDigit(c) || i < 0 && j == 0 && c <= '9' {
			return "", false
		}
	}
	if i >= 0 && len(key) < 2 {
		return "", false // it is everywhere
	}
	return key, i >= 0
}

// kind is what the value of a field is taken for.
type kind uint8

const (
	numbers kind = iota
	durations
	sizes
)

// A field is met by lines that may have a field whose value meets a comparison. It looks at
// the text behind the end of the name; of what is no value there, the parser finds out.
type field struct {
	name     string
	kind     kind
	op       syntax.CompareOp
	value    float64
	duration time.Duration
	size     uint64

	key    string // the end of the name
	joined bool   // there is more of the name
	json   bool
	// keepEmpty tells that a field without a value makes a label, which is no number.
	keepEmpty bool
}

func (f field) filter() logstore.Filter {
	key := []byte(f.key)
	return logstore.LineFunc(func(line []byte) bool { return f.may(line, key) })
}

func (f field) String() string {
	op := [...]string{"==", "!=", "<", "<=", ">", ">="}[f.op]
	switch f.kind {
	case durations:
		return fmt.Sprintf("has a duration %q %s %v", f.name, op, f.duration)
	case sizes:
		return fmt.Sprintf("has a size %q %s %d bytes", f.name, op, f.size)
	}
	return fmt.Sprintf("has a number %q %s %s", f.name, op, strconv.FormatFloat(f.value, 'g', -1, 64))
}

// may is false only if each place of key has a value behind it that does not meet the comparison.
func (f field) may(line, key []byte) bool {
	if bytes.IndexByte(line, '\\') >= 0 {
		return true // an escape may hide the name
	}
	for at := 0; ; {
		i := bytes.Index(line[at:], key)
		if i < 0 {
			return false
		}
		start := at + i
		at = start + len(key)
		if start > 0 && f.continues(line[start-1]) || at < len(line) && (line[at] == '_' || isLetterOrDigit(line[at])) {
			continue // a part of another name
		}
		if f.mayAt(line, start, at) {
			return true
		}
	}
}

// continues reports whether c before key makes it a part of another name.
func (f field) continues(c byte) bool { return isLetterOrDigit(c) || c == '_' && !f.joined }

func isLetterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// mayAt looks at what is behind line[start:end], the key.
func (f field) mayAt(line []byte, start, end int) bool {
	if f.json {
		quoted := end < len(line) && line[end] == '"' && (f.joined || start > 0 && line[start-1] == '"')
		if !quoted {
			return true
		}
		end = skipSpace(line, end+1)
		if end == len(line) || line[end] != ':' {
			return false // a value
		}
		end = skipSpace(line, end+1)
	} else {
		if end == len(line) || line[end] == ' ' {
			return f.keepEmpty // without a value
		}
		if line[end] != '=' {
			return true
		}
		end++
	}
	text, ok := f.text(line[end:])
	return !ok || f.meets(text)
}

// text returns the value at the beginning of rest, ok false if it cannot be told.
func (f field) text(rest []byte) (text []byte, ok bool) {
	if len(rest) > 0 && rest[0] == '"' {
		n := bytes.IndexByte(rest[1:], '"')
		if n < 0 || !f.json && n+2 < len(rest) && rest[n+2] != ' ' {
			return nil, false
		}
		return rest[1 : n+1], true
	}
	for i, c := range rest {
		if c == ' ' || f.json && (c == ',' || c == '}') {
			return rest[:i], true
		}
	}
	return rest, true
}

// meets reports whether a text meets the comparison, or is no value.
func (f field) meets(text []byte) bool {
	switch f.kind {
	case durations:
		v, ok := units.Duration(text)
		return !ok || compare(f.op, v, f.duration)
	case sizes:
		v, ok := units.Bytes(text)
		return !ok || compare(f.op, v, f.size)
	}
	v, ok := units.Number(text)
	return !ok || compare(f.op, v, f.value)
}

func compare[T cmp.Ordered](op syntax.CompareOp, a, b T) bool {
	switch op {
	case syntax.CompareEqual:
		return a == b
	case syntax.CompareNotEqual:
		return a != b
	case syntax.CompareLess:
		return a < b
	case syntax.CompareLessOrEqual:
		return a <= b
	case syntax.CompareGreater:
		return a > b
	}
	return a >= b
}

func skipSpace(line []byte, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == '\n' || line[i] == '\r') {
		i++
	}
	return i
}
