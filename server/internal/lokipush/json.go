package lokipush

import (
	"bytes"
	"math"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stele-go/stele/internal/jsontext"
	"github.com/stele-go/stele/logstore"
)

// JSON decodes a push, replacing what the decoder had. Both forms of streams are taken:
//
//	{"streams": [{"stream": {"app": "api"}, "values": [["1767600000000000000", "line", {"trace_id": "1"}]]}]}
//	{"streams": [{"labels": "{app=\"api\"}", "entries": [{"ts": "2026-01-05T08:00:00Z", "line": "line"}]}]}
//
// It overwrites parts of body, as strings with escapes are decoded where they are. The error
// is an *Error, or wraps that of the Account.
func (d *Decoder) JSON(body []byte) error {
	d.reset()
	j := scanner{p: body}
	err := j.object(func(key []byte) error {
		if string(key) != "streams" {
			return j.skip(0)
		}
		return j.array(func() error { return d.jsonStream(&j) })
	})
	if err == nil {
		if j.space(); j.at < len(j.p) {
			err = j.fail("nothing")
		}
	}
	return err
}

// A jsonStream is what is known of a stream.
type jsonStream struct {
	labels []byte
	form   form
	legacy bool // its entries are objects
	listed bool // its entries have been seen
	later  int  // where they lie if they came before the labels, else 0
	begun  bool // its labels have been read
}

func (d *Decoder) jsonStream(j *scanner) error {
	var s jsonStream
	begun := j.at
	err := j.object(func(key []byte) error { return d.jsonField(j, &s, key) })
	if err == nil && !s.begun {
		err = d.begin(begun, s.form, s.labels)
		if err == nil && s.later > 0 {
			err = d.jsonEntries(&scanner{p: j.p, at: s.later}, &s)
		}
	}
	if err == nil {
		d.end()
	}
	return err
}

// jsonField reads the value of a key of a stream.
func (d *Decoder) jsonField(j *scanner, s *jsonStream, key []byte) (err error) {
	switch string(key) {
	case "stream", "labels":
		if s.labels != nil {
			return j.fail("the labels of a stream once")
		}
		if j.space(); key[0] == 'l' {
			s.form = formText
			s.labels, err = j.string()
			return err
		}
		from := j.at
		if j.at >= len(j.p) || j.p[j.at] != '{' {
			return j.fail("an object of labels")
		}
		s.form = formJSON
		err = j.skip(0)
		s.labels = j.p[from:min(j.at, len(j.p))]
		return err
	case "values", "entries":
		if s.listed { // JSON's usual readers keep the last, and lose the others without a word
			return j.fail("the entries of a stream once")
		}
		j.space()
		s.listed, s.legacy = true, key[0] == 'e'
		if s.labels == nil {
			s.later = j.at
			return j.skip(0)
		}
		s.begun = true
		if err := d.begin(j.at, s.form, s.labels); err != nil {
			return err
		}
		return d.jsonEntries(j, s)
	}
	return j.skip(0)
}

func (d *Decoder) jsonEntries(j *scanner, s *jsonStream) error {
	return j.array(func() error {
		time, line, err := d.jsonEntry(j, s.legacy)
		if err != nil {
			return err
		}
		return d.add(j.at, time, line, nil)
	})
}

// jsonEntry reads an entry, and its metadata.
func (d *Decoder) jsonEntry(j *scanner, legacy bool) (at int64, line []byte, err error) {
	d.beginEntry()
	if legacy {
		err = j.object(func(key []byte) (err error) {
			switch string(key) {
			case "ts", "timestamp":
				at, err = j.time()
			case "line":
				line, err = j.string()
			case "structuredMetadata":
				err = d.jsonMetadata(j)
			default:
				err = j.skip(0)
			}
			return err
		})
		return at, line, err
	}
	n := 0
	err = j.array(func() (err error) {
		switch n++; n {
		case 1:
			at, err = j.time()
		case 2:
			line, err = j.string()
		case 3:
			err = d.jsonMetadata(j)
		default:
			err = j.fail("the end of an entry")
		}
		return err
	})
	if err == nil && n < 2 {
		err = j.fail("a time and a line")
	}
	return at, line, err
}

func (d *Decoder) jsonMetadata(j *scanner) error {
	return j.object(func(key []byte) error {
		value, err := j.string()
		if err == nil {
			d.addPair(logstore.Label{Name: view(key), Value: view(value)})
		}
		return err
	})
}

// A scanner reads JSON.
type scanner struct {
	p  []byte
	at int
}

func (j *scanner) fail(want string) error {
	at := min(j.at, len(j.p))
	got := "the end"
	if at < len(j.p) {
		got = strconv.QuoteToGraphic(string(j.p[at:min(at+20, len(j.p))]))
	}
	return &Error{at, got + "; want " + want}
}

func (j *scanner) space() {
	for j.at < len(j.p) {
		switch j.p[j.at] {
		case ' ', '\t', '\n', '\r':
			j.at++
		default:
			return
		}
	}
}

// take reports whether the next character is c, and skips it.
func (j *scanner) take(c byte) bool {
	j.space()
	if j.at < len(j.p) && j.p[j.at] == c {
		j.at++
		return true
	}
	return false
}

// null reports whether the next value is null, and skips it.
func (j *scanner) null() bool {
	j.space()
	if bytes.HasPrefix(j.p[min(j.at, len(j.p)):], []byte("null")) {
		j.at += 4
		return true
	}
	return false
}

// array calls f before each element, which f reads. null is an empty array.
func (j *scanner) array(f func() error) error {
	if !j.take('[') {
		if j.null() {
			return nil
		}
		return j.fail("an array")
	}
	if j.take(']') {
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		if j.take(',') {
			continue
		}
		if j.take(']') {
			return nil
		}
		return j.fail("a comma or ]")
	}
}

// object calls f with each key; f reads the value. null is an empty object.
func (j *scanner) object(f func(key []byte) error) error {
	if !j.take('{') {
		if j.null() {
			return nil
		}
		return j.fail("an object")
	}
	if j.take('}') {
		return nil
	}
	for {
		key, err := j.string()
		if err != nil {
			return err
		}
		if !j.take(':') {
			return j.fail("a colon")
		}
		if err := f(key); err != nil {
			return err
		}
		if j.take(',') {
			continue
		}
		if j.take('}') {
			return nil
		}
		return j.fail("a comma or }")
	}
}

// string reads a string, decoded where it is.
func (j *scanner) string() ([]byte, error) {
	if !j.take('"') {
		return nil, j.fail("a string")
	}
	from := j.at
	for {
		n := indexSpecial(j.p[j.at:])
		if n < 0 {
			j.at = len(j.p)
			return nil, j.fail("the end of a string")
		}
		j.at += n
		switch j.p[j.at] {
		case '"':
			j.at++
			return j.p[from : j.at-1 : j.at-1], nil
		case '\\':
			return j.escaped(from)
		default:
			return nil, j.fail("no control character in a string")
		}
	}
}

// indexSpecial returns the index of the first quote, backslash or control character, -1
// without one. Eight bytes are looked at at once.
func indexSpecial(p []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(p); i += 8 {
		w := uint64(p[i]) | uint64(p[i+1])<<8 | uint64(p[i+2])<<16 | uint64(p[i+3])<<24 |
			uint64(p[i+4])<<32 | uint64(p[i+5])<<40 | uint64(p[i+6])<<48 | uint64(p[i+7])<<56
		quote, slash := w^('"'*ones), w^('\\'*ones)
		// A byte that is zero, or below ' ', borrows into its highest bit.
		if ((quote-ones)&^quote|(slash-ones)&^slash|(w-' '*ones)&^w)&highs != 0 {
			break
		}
	}
	for ; i < len(p); i++ {
		if c := p[i]; c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return -1
}

// escaped reads the rest of a string that begins at from, from its first backslash on.
func (j *scanner) escaped(from int) ([]byte, error) {
	to := j.at
	for j.at < len(j.p) {
		c := j.p[j.at]
		switch {
		case c == '"':
			j.at++
			return j.p[from:to:to], nil
		case c < ' ':
			return nil, j.fail("no control character in a string")
		case c != '\\':
			n := indexSpecial(j.p[j.at:])
			if n < 0 {
				n = len(j.p) - j.at
			}
			to += copy(j.p[to:], j.p[j.at:j.at+n])
			j.at += n
			continue
		}
		j.at++
		if j.at >= len(j.p) {
			break
		}
		c = j.p[j.at]
		j.at++
		switch c {
		case '"', '\\', '/':
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, err := j.escapedRune()
			if err != nil {
				return nil, err
			}
			to += utf8.EncodeRune(j.p[to:j.at], r)
			continue
		default:
			j.at--
			return nil, j.fail("an escape")
		}
		j.p[to] = c
		to++
	}
	return nil, j.fail("the end of a string")
}

// escapedRune reads the digits behind \u, and a second half of a surrogate pair. A
// lone half is the replacement character.
func (j *scanner) escapedRune() (rune, error) {
	r, ok := j.hex()
	if !ok {
		return 0, j.fail("four hexadecimal digits")
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	begun := j.at
	if j.at+6 <= len(j.p) && j.p[j.at] == '\\' && j.p[j.at+1] == 'u' {
		j.at += 2
		if low, ok := j.hex(); ok {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return both, nil
			}
		}
		j.at = begun
	}
	return utf8.RuneError, nil
}

func (j *scanner) hex() (r rune, ok bool) {
	if r, ok = jsontext.Hex4(j.p[j.at:]); ok {
		j.at += 4
	}
	return r, ok
}

// time reads a time: nanoseconds as a number or in a string, or RFC 3339 in a string.
func (j *scanner) time() (int64, error) {
	j.space()
	begun := j.at
	text := j.number()
	if text == nil {
		var err error
		if text, err = j.string(); err != nil {
			return 0, err
		}
	}
	if n, ok := decimal(text); ok {
		return n, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, string(text)); err == nil {
		return nanoseconds(t.Unix(), int64(t.Nanosecond())), nil
	}
	j.at = begun
	return 0, j.fail("nanoseconds since 1970, or a time of RFC 3339")
}

// number reads the characters of a number, nil if there is none.
func (j *scanner) number() []byte {
	from := j.at
	for j.at < len(j.p) {
		c := j.p[j.at]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c|0x20 != 'e' {
			break
		}
		j.at++
	}
	if j.at == from {
		return nil
	}
	return j.p[from:j.at]
}

// decimal reads an integer.
func decimal(p []byte) (n int64, ok bool) {
	digits := p
	if len(p) > 0 && p[0] == '-' {
		digits = p[1:]
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	u := uint64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		u = u*10 + uint64(c-'0')
	}
	if u > math.MaxInt64 {
		return 0, false
	}
	if len(digits) < len(p) {
		return -int64(u), true
	}
	return int64(u), true
}

// maxDepth bounds the nesting of values that are skipped.
const maxDepth = 64

// skip skips a value.
func (j *scanner) skip(depth int) error {
	j.space()
	if depth > maxDepth {
		return j.fail("no more than 64 values in each other")
	}
	if j.at >= len(j.p) {
		return j.fail("a value")
	}
	switch c := j.p[j.at]; {
	case c == '"':
		return j.skipString()
	case c == '{':
		j.at++
		if j.take('}') {
			return nil
		}
		for {
			if j.space(); j.at >= len(j.p) || j.p[j.at] != '"' {
				return j.fail("a string")
			}
			if err := j.skipString(); err != nil {
				return err
			}
			if !j.take(':') {
				return j.fail("a colon")
			}
			if err := j.skip(depth + 1); err != nil {
				return err
			}
			if j.take(',') {
				continue
			}
			if j.take('}') {
				return nil
			}
			return j.fail("a comma or }")
		}
	case c == '[':
		return j.array(func() error { return j.skip(depth + 1) })
	case c == '-' || c >= '0' && c <= '9':
		j.number()
		return nil
	}
	for _, word := range []string{"null", "true", "false"} {
		if len(j.p)-j.at >= len(word) && string(j.p[j.at:j.at+len(word)]) == word {
			j.at += len(word)
			return nil
		}
	}
	return j.fail("a value")
}

// skipString skips a string and changes nothing of it.
func (j *scanner) skipString() error {
	j.at++
	for {
		n := indexSpecial(j.p[j.at:])
		if n < 0 {
			j.at = len(j.p)
			return j.fail("the end of a string")
		}
		switch j.at += n; j.p[j.at] {
		case '"':
			j.at++
			return nil
		case '\\':
			if j.at += 2; j.at > len(j.p) {
				return j.fail("the end of a string")
			}
		default:
			return j.fail("no control character in a string")
		}
	}
}
