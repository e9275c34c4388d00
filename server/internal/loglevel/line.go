package loglevel

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// ofLogfmt returns the value of the field of a level of a line in logfmt. Fields behind a
// place that is not logfmt do not count.
func ofLogfmt(p []byte) (value []byte) {
	if bytes.IndexByte(p, '=') < 0 {
		return nil
	}
	best := 100
	for i := 0; i < len(p); {
		for i < len(p) && p[i] <= ' ' {
			i++
		}
		from := i
		for i < len(p) && p[i] > ' ' && p[i] != '=' && p[i] != '"' {
			i++
		}
		name := p[from:i]
		if i == len(p) || p[i] == '"' || i == from {
			return value // the end, or an error
		}
		if p[i] != '=' {
			continue // a name without a value
		}
		i++
		v, n := logfmtValue(p[i:])
		if n < 0 || bytes.ContainsRune(name, utf8.RuneError) {
			return value
		}
		i += n
		if r := folded(name); r > 0 && r < best {
			if best, value = r, v; r == 1 {
				break
			}
		}
	}
	return value
}

// logfmtValue returns the value that p begins with, and its length: below 0 if it is none.
func logfmtValue(p []byte) (value []byte, n int) {
	if len(p) == 0 || p[0] != '"' {
		for n < len(p) && p[n] > ' ' {
			if p[n] == '=' || p[n] == '"' {
				return nil, -1
			}
			n++
		}
		return p[:n], n
	}
	escapes := false
	for n = 1; n < len(p); n++ {
		switch p[n] {
		case '"':
			if !escapes {
				return p[1:n], n + 1
			}
			text, err := strconv.Unquote(string(p[:n+1]))
			if err != nil {
				return nil, -1
			}
			return []byte(text), n + 1
		case '\\':
			escapes = true
			n++
		}
	}
	return nil, -1
}

// A word is a level by its name in a line.
var words = [...]struct{ word, level string }{
	{"trace", "trace"}, {"debug", "debug"}, {"info", "info"}, {"warning", "warn"}, {"warn", "warn"},
	{"error", "error"}, {"err", "error"}, {"critical", "critical"}, {"fatal", "fatal"},
}

// The characters that may stand before and behind a word, and the letters by which one
// begins: bits of a table.
const (
	before = 1 << iota
	behind
	begins
)

var table = func() (t [256]byte) {
	for _, c := range []byte(" \t\n\"(=[{") {
		t[c] |= before
	}
	for _, c := range []byte(" \t\n!\"(),:=[]{}") {
		t[c] |= behind
	}
	for _, c := range []byte("tdiwecfTDIWECF") {
		t[c] |= begins
	}
	return t
}()

// ofWords returns the level that the first word of a line tells which is one.
func ofWords(p []byte) string {
	last := byte(' ')
	for i, c := range p {
		if table[c]&begins != 0 && table[last]&before != 0 {
			if level := wordAt(p[i:]); level != "" {
				return level
			}
		}
		last = c
	}
	return ""
}

func wordAt(p []byte) string {
next:
	for i := range words {
		w := words[i].word
		if len(p) < len(w) || len(p) > len(w) && table[p[len(w)]]&behind == 0 {
			continue
		}
		for j := range len(w) {
			if lower(p[j]) != w[j] {
				continue next
			}
		}
		return words[i].level
	}
	return ""
}
