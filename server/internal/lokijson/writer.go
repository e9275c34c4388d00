// Package lokijson writes JSON as Loki's API has it: times and values as texts,
// samples as pairs. It writes through a buffer, and allocates nothing for a line.
package lokijson

import (
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// bufferSize is how many bytes are collected before they are written.
const bufferSize = 32 << 10

// A Writer appends JSON to a buffer, and writes it to an io.Writer whenever the buffer
// is full. Commas between the values of an array and between the fields of an object
// are its own business; see Array and Object. The first error stays: see Flush.
type Writer struct {
	w    io.Writer
	buf  []byte
	more bool // a value of the innermost array or object has been written
	err  error
	n    int64
}

// New returns a Writer to w.
func New(w io.Writer) *Writer {
	return &Writer{w: w, buf: make([]byte, 0, bufferSize+bufferSize/4)}
}

// Reset makes the Writer write to w, as New does.
func (w *Writer) Reset(to io.Writer) {
	*w = Writer{w: to, buf: w.buf[:0]}
}

// Written returns how many bytes have been written, those in the buffer included.
func (w *Writer) Written() int64 { return w.n + int64(len(w.buf)) }

// Flush writes what is in the buffer, and returns the first error of any write.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.buf) > 0 {
		var n int
		n, w.err = w.w.Write(w.buf)
		w.n += int64(n)
	}
	w.buf = w.buf[:0]
	return w.err
}

// Err returns the first error of a write.
func (w *Writer) Err() error { return w.err }

func (w *Writer) room() {
	if len(w.buf) >= bufferSize {
		_ = w.Flush() // the error stays in w.err
	}
}

// value begins a value of an array.
func (w *Writer) value() {
	if w.more {
		w.buf = append(w.buf, ',')
	}
	w.more = true
}

// BeginObject begins an object.
func (w *Writer) BeginObject() { w.value(); w.buf = append(w.buf, '{'); w.more = false }

// EndObject ends an object.
func (w *Writer) EndObject() { w.buf = append(w.buf, '}'); w.more = true; w.room() }

// BeginArray begins an array.
func (w *Writer) BeginArray() { w.value(); w.buf = append(w.buf, '['); w.more = false }

// EndArray ends an array.
func (w *Writer) EndArray() { w.buf = append(w.buf, ']'); w.more = true; w.room() }

// Name writes the name of a field of an object. Its value comes next.
func (w *Writer) Name(name string) {
	w.value()
	w.buf = AppendString(w.buf, name)
	w.buf = append(w.buf, ':')
	w.more = false
}

// String writes a text.
func (w *Writer) String(s string) {
	w.value()
	w.buf = AppendString(w.buf, s)
	w.room()
}

// Strings writes an array of texts.
func (w *Writer) Strings(list []string) {
	w.BeginArray()
	for _, s := range list {
		w.String(s)
	}
	w.EndArray()
}

// Int writes a number.
func (w *Writer) Int(v int64) { w.value(); w.buf = strconv.AppendInt(w.buf, v, 10) }

// Bool writes true or false.
func (w *Writer) Bool(v bool) { w.value(); w.buf = strconv.AppendBool(w.buf, v) }

// Float writes a number. What JSON has no number for, NaN and infinities, is 0.
func (w *Writer) Float(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	w.value()
	w.buf = strconv.AppendFloat(w.buf, v, 'g', -1, 64)
}

// Raw writes a value that is JSON already.
func (w *Writer) Raw(json string) {
	w.value()
	w.buf = append(w.buf, json...)
	w.room()
}

// Nanos writes a time as the text of its nanoseconds since the Unix epoch, as the
// entries of streams have it.
func (w *Writer) Nanos(t int64) {
	w.value()
	w.buf = append(w.buf, '"')
	w.buf = strconv.AppendInt(w.buf, t, 10)
	w.buf = append(w.buf, '"')
}

// Seconds writes a time in nanoseconds as seconds, with the milliseconds that samples have.
func (w *Writer) Seconds(t int64) { w.value(); w.buf = AppendSeconds(w.buf, t) }

// Value writes the value of a sample, a number as text: "1.5", "NaN", "+Inf".
func (w *Writer) Value(v float64) {
	w.value()
	w.buf = append(w.buf, '"')
	w.buf = AppendValue(w.buf, v)
	w.buf = append(w.buf, '"')
}

// Sample writes a pair of time and value.
func (w *Writer) Sample(t int64, v float64) {
	w.BeginArray()
	w.Seconds(t)
	w.Value(v)
	w.EndArray()
}

// Newline ends a line of JSON lines: the next value needs no comma.
func (w *Writer) Newline() {
	w.buf = append(w.buf, '\n')
	w.more = false
	w.room()
}

// AppendValue appends a number as samples have it.
func AppendValue(buf []byte, v float64) []byte {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 && (v != 0 || !math.Signbit(v)) {
		return strconv.AppendInt(buf, int64(v), 10)
	}
	return strconv.AppendFloat(buf, v, 'f', -1, 64)
}

// AppendSeconds appends a time in nanoseconds as seconds, down to milliseconds.
func AppendSeconds(buf []byte, t int64) []byte {
	ms := t / 1e6
	if ms < 0 {
		return strconv.AppendFloat(buf, float64(ms)/1000, 'f', -1, 64)
	}
	buf = strconv.AppendInt(buf, ms/1000, 10)
	rest := ms % 1000
	if rest == 0 {
		return buf
	}
	buf = append(buf, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	for buf[len(buf)-1] == '0' {
		buf = buf[:len(buf)-1]
	}
	return buf
}

const hex = "0123456789abcdef"

// plain tells which bytes a text has as they are.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// AppendString appends s as a JSON text. A byte that is not UTF-8 becomes U+FFFD.
func AppendString(buf []byte, s string) []byte {
	buf = append(buf, '"')
	from := 0 // of what is not yet appended
	for i := 0; i < len(s); {
		for i+8 <= len(s) && plainWord(s[i:i+8]) {
			i += 8
		}
		if i == len(s) {
			break
		}
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			// U+2028 and U+2029 end a line in JavaScript.
			if r != utf8.RuneError && r != '\u2028' && r != '\u2029' || n > 1 && r == utf8.RuneError {
				i += n
				continue
			}
			buf = append(buf, s[from:i]...)
			buf = append(buf, `\u`...)
			buf = append(buf, hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
			i += n
			from = i
			continue
		}
		buf = append(buf, s[from:i]...)
		buf = appendEscaped(buf, c)
		i++
		from = i
	}
	buf = append(buf, s[from:]...)
	return append(buf, '"')
}

// plainWord reports whether all eight bytes of s are plain, by the bits that a byte
// has only if it is not: the top bit, or that of a subtraction that borrows.
func plainWord(s string) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	_ = s[7]
	v := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	quote, back := v^ones*'"', v^ones*'\\'
	return (v|(v-ones*0x20)|(quote-ones)|(back-ones))&tops == 0
}

func appendEscaped(buf []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(buf, '\\', c)
	case '\n':
		return append(buf, `\n`...)
	case '\r':
		return append(buf, `\r`...)
	case '\t':
		return append(buf, `\t`...)
	}
	return append(buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
