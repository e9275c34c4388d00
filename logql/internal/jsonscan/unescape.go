package jsonscan

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stele-go/stele/internal/jsontext"
)

// AppendUnescaped appends a string without its escapes to buf. It returns false if an escape is
// none of JSON, or half of a surrogate pair; buf is then as it was.
func AppendUnescaped(buf, raw []byte) ([]byte, bool) {
	was := len(buf)
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			buf = append(buf, raw[i])
			i++
			continue
		}
		r, size, ok := escape(raw[i:])
		if !ok {
			return buf[:was], false
		}
		buf = utf8.AppendRune(buf, r)
		i += size
	}
	return buf, true
}

// escape reads an escape, which begins with a backslash.
func escape(raw []byte) (r rune, size int, ok bool) {
	if len(raw) < 2 {
		return 0, 0, false
	}
	switch c := raw[1]; c {
	case '"', '\\', '/':
		return rune(c), 2, true
	case 'b':
		return '\b', 2, true
	case 'f':
		return '\f', 2, true
	case 'n':
		return '\n', 2, true
	case 'r':
		return '\r', 2, true
	case 't':
		return '\t', 2, true
	case 'u':
		return unicodeEscape(raw)
	}
	return 0, 0, false
}

func unicodeEscape(raw []byte) (r rune, size int, ok bool) {
	r, ok = jsontext.Hex4(raw[2:])
	if !ok || !utf16.IsSurrogate(r) {
		return r, 6, ok
	}
	if len(raw) < 8 || raw[6] != '\\' || raw[7] != 'u' {
		return 0, 0, false
	}
	low, ok := jsontext.Hex4(raw[8:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0, false
	}
	return r, 12, true
}
