// Package logfmt reads lines of pairs: level=info msg="hello world".
package logfmt

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stele-go/stele/internal/jsontext"
)

// A Pair is a key and its value.
type Pair struct {
	Key     []byte
	Value   []byte // without quotes, but with its escapes
	Escaped bool   // see AppendUnescaped
}

// A SyntaxError tells what is wrong with a line.
type SyntaxError struct {
	Pos int // from 1, in bytes
	Msg string
}

func (e *SyntaxError) Error() string {
	return string(e.Append(nil))
}

// Append appends the text of the error to buf.
func (e *SyntaxError) Append(buf []byte) []byte {
	buf = append(buf, "logfmt syntax error at pos "...)
	buf = strconv.AppendInt(buf, int64(e.Pos), 10)
	return append(append(buf, " : "...), e.Msg...)
}

// A Scanner reads the pairs of a line.
type Scanner struct {
	line []byte
	pos  int
	bad  bool
	err  SyntaxError
}

// Init begins the reading of line.
func (s *Scanner) Init(line []byte) { *s = Scanner{line: line} }

// Err returns the error that made Next return false, nil at the end of the line. It is valid
// until the next call of Next.
func (s *Scanner) Err() *SyntaxError {
	if !s.bad {
		return nil
	}
	return &s.err
}

func (s *Scanner) fail(pos int, msg string) bool {
	s.pos, s.bad, s.err = pos, true, SyntaxError{pos + 1, msg}
	return false
}

const (
	unexpectedEqual = "unexpected '='"
	unexpectedQuote = "unexpected '\"'"
)

// plain are the bytes of which keys, and values without quotes, are.
var plain = func() (p [256]bool) {
	for c := range p {
		p[c] = c > ' ' && c != '=' && c != '"'
	}
	return p
}()

// Next reads a pair. It returns false at the end of the line, and at a pair that is none;
// after that it may be called again, and goes on behind the next blank.
func (s *Scanner) Next(p *Pair) bool {
	line, i := s.line, s.pos
	if s.bad {
		s.bad = false
		for i < len(line) && line[i] > ' ' {
			i++
		}
	}
	for i < len(line) && line[i] <= ' ' {
		i++
	}
	if i == len(line) {
		s.pos = i
		return false
	}
	start := i
	for i < len(line) && plain[line[i]] {
		i++
	}
	if i < len(line) && line[i] == '"' {
		return s.fail(i, unexpectedQuote)
	}
	p.Key, p.Value, p.Escaped = line[start:i], nil, false
	if i == len(line) || line[i] != '=' {
		s.pos = i
		return true
	}
	if i == start {
		return s.fail(i, unexpectedEqual)
	}
	return s.value(p, i+1)
}

// value reads a value from i on.
func (s *Scanner) value(p *Pair, i int) bool {
	line := s.line
	if i < len(line) && line[i] == '"' {
		return s.quoted(p, i+1)
	}
	start := i
	for i < len(line) && plain[line[i]] {
		i++
	}
	if i < len(line) && line[i] > ' ' {
		if line[i] == '=' {
			return s.fail(i, unexpectedEqual)
		}
		return s.fail(i, unexpectedQuote)
	}
	p.Value, s.pos = line[start:i], i
	return true
}

// quoted reads a value behind its first quote.
func (s *Scanner) quoted(p *Pair, start int) bool {
	line := s.line
	end := bytes.IndexByte(line[start:], '"')
	if end < 0 {
		return s.fail(len(line), "unterminated quoted value")
	}
	end += start
	if first := bytes.IndexByte(line[start:end], '\\'); first >= 0 {
		p.Escaped = true
		for end = start + first; end < len(line) && line[end] != '"'; end++ {
			if line[end] == '\\' {
				end++
			}
		}
		if end >= len(line) {
			return s.fail(len(line), "unterminated quoted value")
		}
		if !valid(line[start:end]) {
			return s.fail(end+1, "invalid quoted value")
		}
	}
	p.Value, s.pos = line[start:end], end+1
	return true
}

// valid reports whether all escapes of a value are some.
func valid(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] < ' ' {
			return false
		}
		if raw[i] != '\\' {
			continue
		}
		i++
		switch raw[i] {
		case '"', '\\', '/', '\'', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if _, ok := jsontext.Hex4(raw[i+1:]); !ok {
				return false
			}
			i += 4
		default:
			return false
		}
	}
	return true
}

// AppendUnescaped appends a value without its escapes to buf. Half of a surrogate pair becomes
// U+FFFD.
func AppendUnescaped(buf, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			buf = append(buf, raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'b':
			buf = append(buf, '\b')
		case 'f':
			buf = append(buf, '\f')
		case 'n':
			buf = append(buf, '\n')
		case 'r':
			buf = append(buf, '\r')
		case 't':
			buf = append(buf, '\t')
		case 'u':
			r, size := codePoint(raw[i-1:])
			buf = utf8.AppendRune(buf, r)
			i += size - 2
		default:
			buf = append(buf, c)
		}
	}
	return buf
}

// codePoint reads \u1234, or a surrogate pair.
func codePoint(raw []byte) (r rune, size int) {
	r, ok := jsontext.Hex4(raw[2:])
	if !ok {
		return utf8.RuneError, 2
	}
	if utf16.IsSurrogate(r) {
		if len(raw) >= 8 && raw[6] == '\\' && raw[7] == 'u' {
			low, _ := jsontext.Hex4(raw[8:])
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}
