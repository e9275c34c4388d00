package filter

import "unicode/utf8"

// Four numbers of up to three digits separated by points, as in an address, are
// one key: with two hundred hosts most blocks have each of the four numbers,
// but few have them in one address.

const (
	quadNumbers = 4
	quadDigits  = 3
)

// quadAt returns the end of the quad that begins with the token at start, or
// -1.
func quadAt(text []byte, start int) int {
	i := start
	for n := 1; ; n++ {
		first := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		if i == first || i-first > quadDigits {
			return -1
		}
		if n == quadNumbers {
			break
		}
		if i == len(text) || text[i] != '.' {
			return -1
		}
		i++
	}
	if i == len(text) {
		return i
	}
	if b := text[i]; b < utf8.RuneSelf {
		if asciiFold[b] != 0 {
			return -1
		}
		return i
	}
	r, _ := utf8.DecodeRune(text[i:])
	if c, _ := classify(r); c == word {
		return -1
	}
	return i
}

// startsQuad reports whether a token may begin a quad.
func startsQuad(text []byte, start, end int) bool {
	return end < len(text) && text[end] == '.' && end-start <= quadDigits
}
