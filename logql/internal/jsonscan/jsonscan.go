// Package jsonscan reads the fields of objects in JSON one by one, without decoding what
// nobody asks for. It is as lenient as Loki: a number may be any word that begins as
// numbers do, an array is whatever stands between its brackets, and nothing is read
// behind the closing brace.
package jsonscan

import "bytes"

// An Error is what ends the reading of an object, in the words of Loki.
type Error string

func (e Error) Error() string { return string(e) }

// The errors of a Scanner.
const (
	ErrSyntax = Error("Malformed JSON error")
	ErrString = Error("Value is string, but can't find closing '\"' symbol")
	ErrArray  = Error("Value is array, but can't find closing ']' symbol")
	ErrObject = Error("Value looks like object, but can't find closing '}' symbol")
	ErrValue  = Error("Unknown value type")
	ErrEscape = Error("Encountered an invalid escape sequence in a string")
)

// Kind is the kind of a value.
type Kind uint8

const (
	String Kind = iota
	Number
	Bool
	Null
	Object
	Array
)

// A Value is a value as the text has it: a string without its quotes, but with its
// escapes; an object and an array with braces and brackets.
type Value struct {
	Raw     []byte
	Kind    Kind
	Escaped bool // a string has escapes; see Unescape
}

// A Field is a name and its value.
type Field struct {
	Key        []byte // without quotes, with its escapes
	KeyEscaped bool
	Value      Value
}

// A Scanner reads the fields of one object.
type Scanner struct {
	data []byte
	pos  int
	err  error
	// begun is set once the brace has been read, ended behind the last field.
	begun, ended bool
}

// Init begins the reading of data, which should be an object with blanks around it.
func (s *Scanner) Init(data []byte) { *s = Scanner{data: data} }

// Err returns the error that ended the fields, nil at the end of the object.
func (s *Scanner) Err() error { return s.err }

func (s *Scanner) fail(err error) bool {
	s.err, s.ended = err, true
	return false
}

// blanks skips blanks, and reports whether there is something behind them.
func (s *Scanner) blanks() bool {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\n', '\r', '\t':
			s.pos++
		default:
			return true
		}
	}
	return false
}

// Next reads a field. It returns false behind the last one, and at an error.
func (s *Scanner) Next(f *Field) bool {
	if s.ended {
		return false
	}
	if !s.begun {
		s.begun = true
		if !s.blanks() || s.data[s.pos] != '{' {
			return s.fail(ErrObject)
		}
		s.pos++
		if !s.blanks() {
			return s.fail(ErrSyntax)
		}
	} else if !s.separator() {
		return false
	}
	switch s.data[s.pos] {
	case '}':
		s.ended = true
		return false
	case '"':
		return s.key(f) && s.value(&f.Value)
	}
	return s.fail(ErrObject)
}

// separator reads what is between fields.
func (s *Scanner) separator() bool {
	if !s.blanks() {
		return s.fail(ErrArray)
	}
	switch s.data[s.pos] {
	case '}':
		s.ended = true
		return false
	case ',':
		s.pos++
	default:
		return s.fail(ErrObject)
	}
	if !s.blanks() {
		return s.fail(ErrArray)
	}
	return true
}

func (s *Scanner) key(f *Field) bool {
	end, escaped := stringEnd(s.data[s.pos+1:])
	if end < 0 {
		return s.fail(ErrSyntax)
	}
	f.Key, f.KeyEscaped = s.data[s.pos+1:s.pos+1+end], escaped
	s.pos += end + 2
	if s.pos < len(s.data) && s.data[s.pos] == ':' {
		s.pos++
		return true
	}
	if !s.blanks() || s.data[s.pos] != ':' {
		return s.fail(ErrSyntax)
	}
	s.pos++
	return true
}

// stringEnd returns the index of the quote that ends a string, -1 if there is none.
func stringEnd(data []byte) (end int, escaped bool) {
	// Most strings are so short that a loop beats a call.
	for i := 0; i < len(data) && i < 24; i++ {
		switch data[i] {
		case '"':
			return i, false
		case '\\':
			return escapedEnd(data, i)
		}
	}
	i := bytes.IndexByte(data, '"')
	if i < 0 {
		return -1, false
	}
	if j := bytes.IndexByte(data[:i], '\\'); j >= 0 {
		return escapedEnd(data, j)
	}
	return i, false
}

// escapedEnd is stringEnd from the first backslash on.
func escapedEnd(data []byte, i int) (int, bool) {
	for i < len(data) {
		switch data[i] {
		case '\\':
			i += 2
		case '"':
			return i, true
		default:
			i++
		}
	}
	return -1, true
}

func (s *Scanner) value(v *Value) bool {
	if s.pos >= len(s.data) || s.data[s.pos] <= ' ' {
		if !s.blanks() {
			return s.fail(ErrSyntax)
		}
	}
	size, err := scanValue(s.data[s.pos:], v)
	if err != nil {
		return s.fail(err)
	}
	s.pos += size
	return true
}

// scanValue reads the value at the beginning of data, which is not empty.
func scanValue(data []byte, v *Value) (size int, err error) {
	switch data[0] {
	case '"':
		end, escaped := stringEnd(data[1:])
		if end < 0 {
			return 0, ErrString
		}
		*v = Value{Raw: data[1 : end+1], Kind: String, Escaped: escaped}
		return end + 2, nil
	case '{':
		end := blockEnd(data, '{', '}')
		if end < 0 {
			return 0, ErrObject
		}
		*v = Value{Raw: data[:end], Kind: Object}
		return end, nil
	case '[':
		end := blockEnd(data, '[', ']')
		if end < 0 {
			return 0, ErrArray
		}
		*v = Value{Raw: data[:end], Kind: Array}
		return end, nil
	}
	end := wordEnd(data)
	kind, ok := wordKind(data[:end])
	if !ok {
		return 0, ErrValue
	}
	*v = Value{Raw: data[:end], Kind: kind}
	return end, nil
}

// blockEnd returns the index behind the bracket that closes the one at the beginning of
// data, -1 if there is none.
func blockEnd(data []byte, open, shut byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '"':
			end, _ := stringEnd(data[i+1:])
			if end < 0 {
				return -1
			}
			i += end + 1
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func wordEnd(data []byte) int {
	for i, c := range data {
		switch c {
		case ' ', '\n', '\r', '\t', ',', '}', ']':
			return i
		}
	}
	return len(data)
}

func wordKind(word []byte) (Kind, bool) {
	if len(word) == 0 {
		return 0, false
	}
	switch c := word[0]; {
	case c >= '0' && c <= '9' || c == '-':
		return Number, true
	case c == 't':
		return Bool, string(word) == "true"
	case c == 'f':
		return Bool, string(word) == "false"
	case c == 'n':
		return Null, string(word) == "null"
	}
	return 0, false
}
