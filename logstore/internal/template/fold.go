package template

import (
	"unicode"
	"unicode/utf8"
)

// lower maps upper-case letters of ASCII to lower-case ones.
var lower = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

// toLower returns a copy of a text with the letters of ASCII in lower case.
func toLower(s []byte) []byte {
	t := make([]byte, len(s))
	for i, b := range s {
		t[i] = lower[b]
	}
	return t
}

// sameFold reports whether unicode.SimpleFold leads from one rune to the other.
func sameFold(a, b rune) bool {
	if a == b {
		return true
	}
	for f := unicode.SimpleFold(a); f != a; f = unicode.SimpleFold(f) {
		if f == b {
			return true
		}
	}
	return false
}

// meetFold compares a text with s, which is UTF-8, under case folding until one of them
// ends, and returns how many bytes of s are equal; ok is false if they differ before.
func meetFold(text, s []byte) (size int, ok bool) {
	i, j := 0, 0
	for i < len(text) && j < len(s) {
		a, b := text[i], s[j]
		if a < utf8.RuneSelf && b < utf8.RuneSelf {
			if lower[a] != lower[b] {
				return j, false
			}
			i, j = i+1, j+1
			continue
		}
		rt, nt := utf8.DecodeRune(text[i:])
		rs, ns := utf8.DecodeRune(s[j:])
		if rt == utf8.RuneError && nt == 1 || !sameFold(rt, rs) {
			return j, false
		}
		i, j = i+nt, j+ns
	}
	return j, true
}

// hasCase reports whether a text may be equal to another one under case folding.
func hasCase(s []byte) bool {
	for _, b := range s {
		if b >= utf8.RuneSelf || 'a' <= lower[b] && lower[b] <= 'z' {
			return true
		}
	}
	return false
}

// wholeRunes reports whether no variables of a template make a rune together with each
// other, or with a literal.
func wholeRunes(t Template) bool {
	n := t.Slots()
	for i := range n + 1 {
		l := t.Literal(i)
		if len(l) == 0 {
			if 0 < i && i < n {
				return false
			}
			continue
		}
		if i > 0 && !utf8.RuneStart(l[0]) || i < n && endsInRune(l) {
			return false
		}
	}
	return true
}

// endsInRune reports whether more bytes may complete the last rune of a text.
func endsInRune(l []byte) bool {
	for i := max(0, len(l)-(utf8.UTFMax-1)); i < len(l); i++ {
		if utf8.RuneStart(l[i]) && !utf8.FullRune(l[i:]) {
			return true
		}
	}
	return false
}

func isASCII(p []byte) bool {
	for _, b := range p {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// splits reports whether an offset of a text is between two letters or digits of ASCII.
func splits(text []byte, at int) bool {
	return at > 0 && at < len(text) && isWord[text[at-1]] && isWord[text[at]]
}

// isWord has the bytes of ASCII that are letters or digits.
var isWord = func() (t [256]bool) {
	for i := range t {
		t[i] = '0' <= i && i <= '9' || 'a' <= lower[i] && lower[i] <= 'z'
	}
	return t
}()

// inWord reports whether a byte may be of a word: a letter or digit of ASCII, or of
// another rune.
func inWord(b byte) bool { return isWord[b] || b >= utf8.RuneSelf }
