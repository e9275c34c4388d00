package template

import (
	"math"
	"reflect"
	"strings"
	"unicode/utf8"
)

// formatBound returns a bound of the bytes that fmt.Sprintf makes. It reads a format step by
// step as fmt does, with what that makes of wrong ones: each verb takes the next argument, or
// the one whose number is in brackets.
func formatBound(format string, args []any) int {
	f := formatReader{format: format, args: args}
	for f.at < len(format) && f.bytes < math.MaxInt32 {
		text := strings.IndexByte(format[f.at:], '%')
		if text < 0 {
			f.bytes = sum(f.bytes, len(format)-f.at)
			break
		}
		f.bytes = sum(f.bytes, text)
		f.at += text + 1
		f.verb()
	}
	for _, a := range args[min(f.arg, len(args)):] { // fmt appends the arguments that no verb used
		if f.reordered {
			break
		}
		f.bytes = sum(f.bytes, extentOf(a).bytes+partBytes)
	}
	return f.bytes
}

type formatReader struct {
	format string
	args   []any
	at     int // in format
	arg    int // the next argument
	bytes  int

	reordered  bool // some argument has a number in brackets
	good       bool // those of this verb are right
	afterIndex bool // the last thing read was such a number
}

const (
	verbBytes = 64      // what fmt writes of a value beside it, such as %!d(BADINDEX)
	maxWidth  = 1000000 // that fmt takes
)

// verb reads what is behind a %.
func (f *formatReader) verb() {
	f.good = true
	sharp, plain := f.flags()
	f.afterIndex = f.index()
	width, found := f.number()
	f.good = f.good && !(f.afterIndex && found)
	if f.at+1 < len(f.format) && f.format[f.at] == '.' {
		f.at++
		f.good = f.good && !f.afterIndex
		f.afterIndex = f.index()
		precision, _ := f.number()
		width = sum(width, precision)
	}
	if !f.afterIndex {
		f.afterIndex = f.index()
	}
	f.bytes = sum(f.bytes, verbBytes)
	if f.at >= len(f.format) {
		return
	}
	c, size := utf8.DecodeRuneInString(f.format[f.at:])
	f.at += size
	if c == '%' || !f.good || f.arg >= len(f.args) {
		return
	}
	x := extentOf(f.args[f.arg])
	f.arg++
	f.bytes = sum(f.bytes, times(x.leaves, sum(width, verbBytes)))
	f.bytes = sum(f.bytes, times(x.bytes, growth(c, sharp, plain)))
}

// flags reads those of a verb. Without plain they make a text longer.
func (f *formatReader) flags() (sharp, plain bool) {
	plain = true
	for ; f.at < len(f.format); f.at++ {
		switch f.format[f.at] {
		case '#':
			sharp, plain = true, false
		case ' ', '+':
			plain = false
		case '0', '-':
		default:
			return sharp, plain
		}
	}
	return sharp, plain
}

// growth returns how many bytes a verb makes of one at most.
func growth(verb rune, sharp, plain bool) int {
	switch verb {
	case 'v', 'w':
		if sharp {
			return 4
		}
	case 'x', 'X':
		if plain {
			return 2
		}
		return 5 // 0x00 and a blank
	case 'q':
		return 4 // \x00
	}
	return 1 // a verb for numbers writes a text as it is
}

// index reads the number of an argument in brackets, and reports whether it looks like one.
func (f *formatReader) index() bool {
	if f.at >= len(f.format) || f.format[f.at] != '[' {
		return false
	}
	f.reordered = true
	end := strings.IndexByte(f.format[f.at:], ']')
	if end < 0 {
		f.at++
		f.good = false
		return false
	}
	text := f.format[f.at+1 : f.at+end]
	f.at += end + 1
	n, digits, ok := number(text)
	isNumber := ok && digits == len(text) && digits > 0
	if !isNumber || n < 1 || n > len(f.args) {
		f.good = false
		return isNumber
	}
	f.arg = n - 1
	return true
}

// number reads digits. Of a number that is too long for fmt it is ok false.
func number(s string) (n, digits int, ok bool) {
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		if n > maxWidth {
			return 0, len(s), false
		}
		n = n*10 + int(s[digits]-'0')
		digits++
	}
	return n, digits, true
}

// number reads a width or a precision: digits, which it reports, or an argument.
func (f *formatReader) number() (n int, digits bool) {
	if f.at < len(f.format) && f.format[f.at] == '*' {
		f.at++
		f.afterIndex = false
		if f.arg < len(f.args) {
			n = widthOf(f.args[f.arg])
			f.arg++
		}
		f.bytes = sum(f.bytes, verbBytes)
		return n, false
	}
	n, length, ok := number(f.format[f.at:])
	f.at += length // a number that is too long ends the format
	return n, ok && length > 0
}

// widthOf returns an argument as a width; fmt takes none above maxWidth.
func widthOf(v any) int {
	var n int64
	switch r := reflect.ValueOf(v); {
	case r.IsValid() && r.CanInt(): // a time.Duration, too
		n = r.Int()
	case r.IsValid() && r.CanUint():
		n = int64(min(r.Uint(), maxWidth+1))
	}
	if n > maxWidth || n < -maxWidth {
		return 0
	}
	return int(max(n, -n))
}
