package prefilter

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// number returns what a line needs for a label to meet a comparison: the name of the label
// with a number behind it that may meet it, or what is no number: that is an error, which
// passes.
func (s *splitter) number(p *syntax.NumberPredicate) (condition, bool) {
	if !s.known(p.Name) || len(s.parsers) != 1 || s.parsers[0] == parsesRaw || s.extracts || !simpleName(p.Name) {
		return nil, false
	}
	field := field{name: p.Name, op: p.Op, value: p.Value, json: s.parsers[0] == parsesJSON, keepEmpty: s.keepEmpty}
	return either{field, metadata{name: p.Name, op: logstore.NotEqual}}, true
}

// simpleName reports whether a parser makes a label of exactly the field of the same name:
// _ may be another character of the field, or join the names of nested ones.
func simpleName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c >= '0' && c <= '9' && i > 0 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			continue
		}
		return false
	}
	return name != ""
}

// A field is met by lines that may have a field whose number meets a comparison. It looks at
// plain digits behind the name; of whatever else is there, the parser finds out.
type field struct {
	name  string
	op    syntax.CompareOp
	value float64
	json  bool
	// keepEmpty tells that a field without a value makes a label, which is no number.
	keepEmpty bool
}

func (f field) filter() logstore.Filter {
	name := []byte(f.name)
	return logstore.LineFunc(func(line []byte) bool { return f.may(line, name) })
}

func (f field) String() string {
	op := [...]string{"==", "!=", "<", "<=", ">", ">="}[f.op]
	return fmt.Sprintf("has a number %q %s %s", f.name, op, strconv.FormatFloat(f.value, 'g', -1, 64))
}

// may is false only if each place of the name has plain digits that do not meet the comparison.
func (f field) may(line, name []byte) bool {
	if bytes.IndexByte(line, '\\') >= 0 {
		return true // an escape may hide the name
	}
	for at := 0; ; {
		i := bytes.Index(line[at:], name)
		if i < 0 {
			return false
		}
		start := at + i
		at = start + len(name)
		if start > 0 && isNameByte(line[start-1]) || at < len(line) && isNameByte(line[at]) {
			continue // a part of another name
		}
		if f.mayAt(line, start, at) {
			return true
		}
	}
}

func isNameByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// mayAt looks at what is behind line[start:end], the name.
func (f field) mayAt(line []byte, start, end int) bool {
	if f.json {
		quoted := start > 0 && line[start-1] == '"' && end < len(line) && line[end] == '"'
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
	digits := end
	n := 0.0
	for end < len(line) && line[end] >= '0' && line[end] <= '9' {
		n = n*10 + float64(line[end]-'0')
		end++
	}
	if end == digits || end-digits > 15 {
		return true
	}
	if end < len(line) && line[end] != ' ' && !(f.json && (line[end] == ',' || line[end] == '}')) {
		return true
	}
	return f.meets(n)
}

func (f field) meets(n float64) bool {
	switch f.op {
	case syntax.CompareEqual:
		return n == f.value
	case syntax.CompareNotEqual:
		return n != f.value
	case syntax.CompareLess:
		return n < f.value
	case syntax.CompareLessOrEqual:
		return n <= f.value
	case syntax.CompareGreater:
		return n > f.value
	}
	return n >= f.value
}

func skipSpace(line []byte, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == '\n' || line[i] == '\r') {
		i++
	}
	return i
}
