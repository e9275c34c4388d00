package logstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// String formats the labels as queries write them: {app="api", level="error"}. Names
// other than [a-zA-Z_][a-zA-Z0-9_]* are quoted as values are. ParseLabels reads the
// text.
func (l Labels) String() string {
	b := []byte{'{'}
	for name, value := range l.All() {
		if len(b) > 1 {
			b = append(b, ", "...)
		}
		b = appendName(b, name)
		b = append(b, '=')
		b = strconv.AppendQuote(b, value)
	}
	return string(append(b, '}'))
}

// appendName appends the name of a label, in quotes if it needs them.
func appendName(b []byte, name string) []byte {
	if n := plainName(name); n == 0 || n < len(name) {
		return strconv.AppendQuote(b, name)
	}
	return append(b, name...)
}

// plainName returns how many bytes at the beginning of text are a name without quotes.
func plainName(text string) int {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', i > 0 && c >= '0' && c <= '9':
		default:
			return i
		}
	}
	return len(text)
}

// ParseLabels reads labels as Labels.String writes them, in any order and with blanks
// between all parts. Names and values in quotes have the escapes of Go. As in NewLabels,
// labels with empty values are left out. Errors wrap ErrLabels.
func ParseLabels(text string) (Labels, error) {
	p := labelParser{text: text, rest: text}
	labels, err := p.all()
	if err != nil {
		return Labels{}, err
	}
	return NewLabels(labels...)
}

// A labelParser reads labels from the beginning of rest.
type labelParser struct{ text, rest string }

func (p *labelParser) all() (labels []Label, err error) {
	if !p.take('{') {
		return nil, p.wrong("'{'")
	}
	for !p.take('}') {
		if len(labels) > 0 && !p.take(',') {
			return nil, p.wrong("',' or '}'")
		}
		l, err := p.label()
		if err != nil {
			return nil, err
		}
		labels = append(labels, l)
	}
	if p.blanks(); p.rest != "" {
		return nil, p.wrong("nothing after '}'")
	}
	return labels, nil
}

func (p *labelParser) label() (l Label, err error) {
	p.blanks()
	if n := plainName(p.rest); n > 0 {
		l.Name, p.rest = p.rest[:n], p.rest[n:]
	} else if l.Name, err = p.quoted("the name of a label"); err != nil {
		return l, err
	}
	if !p.take('=') {
		return l, p.wrong("'='")
	}
	l.Value, err = p.quoted("a value in double quotes")
	return l, err
}

// quoted reads a string in double quotes.
func (p *labelParser) quoted(what string) (string, error) {
	if p.blanks(); !strings.HasPrefix(p.rest, `"`) {
		return "", p.wrong(what)
	}
	text, err := strconv.QuotedPrefix(p.rest)
	if err != nil {
		return "", p.wrong(what)
	}
	p.rest = p.rest[len(text):]
	return strconv.Unquote(text)
}

// take reads a character and the blanks before it, and reports whether it is there.
func (p *labelParser) take(c byte) bool {
	p.blanks()
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *labelParser) blanks() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// wrong returns an error for what comes next.
func (p *labelParser) wrong(want string) error {
	found := "the end"
	if p.rest != "" {
		found = strconv.Quote(p.rest[:min(len(p.rest), 32)])
	}
	return fmt.Errorf("logstore: %w: %s at byte %d; want %s", ErrLabels, found, len(p.text)-len(p.rest), want)
}

// MarshalJSON returns an object, with the labels in the order of their names.
func (l Labels) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for name, value := range l.All() {
		if len(b) > 1 {
			b = append(b, ',')
		}
		for i, s := range [...]string{name, value} {
			text, err := json.Marshal(s)
			if err != nil {
				return nil, err
			}
			if b = append(b, text...); i == 0 {
				b = append(b, ':')
			}
		}
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads an object of strings. As in NewLabels, labels with empty values are
// left out, and a name that is there twice is an error, as is an escaped half of a
// surrogate pair, which is no character. It accepts null, which leaves the labels as they
// are. Errors wrap ErrLabels.
func (l *Labels) UnmarshalJSON(text []byte) error {
	if string(bytes.TrimSpace(text)) == "null" {
		return nil
	}
	wrong := func(why string) error {
		return fmt.Errorf("logstore: %w: JSON %.32q: %s", ErrLabels, text, why)
	}
	if !utf8.Valid(text) { // package json would replace the bytes
		return wrong("not UTF-8")
	}
	if !json.Valid(text) { // the decoder would stop behind the object
		return wrong("want one object, and nothing after it")
	}
	if half := loneSurrogate(text); half != "" { // package json would replace it
		return wrong(half + " is half of a surrogate pair")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return wrong("want an object")
	}
	var labels []Label
	for d.More() {
		name, err := d.Token() // a string: a key of an object
		if err != nil {
			return wrong(err.Error())
		}
		value, err := d.Token()
		if err != nil {
			return wrong(err.Error())
		}
		v, ok := value.(string)
		if !ok {
			return wrong(fmt.Sprintf("the value of %q is %v; want a string", name, value))
		}
		labels = append(labels, Label{name.(string), v})
	}
	if _, err := d.Token(); err != nil {
		return wrong(err.Error())
	}
	made, err := NewLabels(labels...)
	if err != nil {
		return err
	}
	*l = made
	return nil
}

// loneSurrogate returns the first escape of valid JSON that is half of a surrogate pair
// and stands alone, or "".
func loneSurrogate(text []byte) string {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		first, ok := escapedUnit(text[i:])
		if !ok {
			i++ // another escape, of one character
			continue
		}
		if utf16.IsSurrogate(first) {
			second, _ := escapedUnit(text[i+unitEscape:])
			if utf16.DecodeRune(first, second) == utf8.RuneError {
				return string(text[i : i+unitEscape])
			}
			i += unitEscape
		}
		i += unitEscape - 1
	}
	return ""
}

// unitEscape is the length of \uXXXX.
const unitEscape = 6

// escapedUnit returns the unit of UTF-16 that valid JSON escapes at its beginning.
func escapedUnit(text []byte) (unit rune, ok bool) {
	if len(text) < unitEscape || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:unitEscape]), 16, 16)
	return rune(n), err == nil
}
