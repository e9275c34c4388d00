package filter

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// ContainsFold reports whether text contains s under Unicode case folding:
// runes are equal if unicode.SimpleFold leads from one to the other, bytes that
// are not UTF-8 if they are the same.
func ContainsFold(text, s []byte) bool {
	var f foldSearch
	f.begin(text, s)
	start, _ := f.next()
	return start >= 0
}

// HasWord reports whether text contains s without splitting a token: neither
// end of s is between two letters, digits or marks. Scripts written without
// spaces, and Hangul, have no such word ends: any rune of them may be the first
// or the last. With folded, case is ignored as by ContainsFold.
func HasWord(text, s []byte, folded bool) bool {
	if folded {
		var f foldSearch
		f.begin(text, s)
		for {
			start, end := f.next()
			if start < 0 {
				return false
			}
			if !cuts(text, start) && !cuts(text, end) {
				return true
			}
		}
	}
	for at := 0; at <= len(text); at++ {
		i := bytes.Index(text[at:], s)
		if i < 0 {
			return false
		}
		at += i
		if !cuts(text, at) && !cuts(text, at+len(s)) {
			return true
		}
	}
	return false
}

// cuts reports whether a token extends across text[at].
func cuts(text []byte, at int) bool {
	if at == 0 || at == len(text) {
		return false
	}
	if l, r := text[at-1], text[at]; l < utf8.RuneSelf && r < utf8.RuneSelf {
		return asciiFold[l] != 0 && asciiFold[r] != 0
	}
	for back := 1; back < utf8.UTFMax && back <= at && !utf8.RuneStart(text[at-back+1]); back++ {
		if r, size := utf8.DecodeRune(text[at-back:]); size > back {
			c, _ := classify(r)
			return c != gap
		}
	}
	l, _ := utf8.DecodeLastRune(text[:at])
	if c, _ := classify(l); c != word {
		return false
	}
	r, _ := utf8.DecodeRune(text[at:])
	c, _ := classify(r)
	return c == word
}

// No rune has more variants of case than this, itself included.
const maxOrbit = 4

// A foldSearch iterates over the matches of s in a text under case folding. It
// searches the text once for each case of the first rune of s, and compares at
// these offsets only.
type foldSearch struct {
	text, s []byte
	first   [maxOrbit]struct {
		encoded [utf8.UTFMax]byte
		size    int
		at      int // its next offset, or the length of text
	}
	n  int // how many of first there are
	at int // where to go on, if s is empty
}

func (f *foldSearch) begin(text, s []byte) {
	f.text, f.s = text, s
	if len(s) == 0 {
		return
	}
	r, size := utf8.DecodeRune(s)
	if r == utf8.RuneError && size == 1 {
		f.add(s[:1])
		return
	}
	f.add(s[:size])
	for v := unicode.SimpleFold(r); v != r; v = unicode.SimpleFold(v) {
		var p [utf8.UTFMax]byte
		f.add(p[:utf8.EncodeRune(p[:], v)])
	}
}

func (f *foldSearch) add(first []byte) {
	v := &f.first[f.n]
	f.n++
	v.size = copy(v.encoded[:], first)
	f.seek(f.n-1, 0)
}

// seek finds the next occurrence of the i-th variant of the first rune.
func (f *foldSearch) seek(i, from int) {
	v := &f.first[i]
	if n := bytes.Index(f.text[from:], v.encoded[:v.size]); n >= 0 {
		v.at = from + n
	} else {
		v.at = len(f.text)
	}
}

// next returns where the next match begins and ends; start is -1 if there are
// no more.
func (f *foldSearch) next() (start, end int) {
	if len(f.s) == 0 {
		if f.at > len(f.text) {
			return -1, 0
		}
		f.at++
		return f.at - 1, f.at - 1
	}
	for {
		start, which := len(f.text), 0
		for i := range f.n {
			if f.first[i].at < start {
				start, which = f.first[i].at, i
			}
		}
		if start == len(f.text) {
			return -1, 0
		}
		f.seek(which, start+1)
		if size := prefixFold(f.text[start:], f.s); size >= 0 {
			return start, start + size
		}
	}
}

// prefixFold returns the length of the prefix of text that equals s under case
// folding, or -1.
func prefixFold(text, s []byte) int {
	i := 0
	for j := 0; j < len(s); {
		if i == len(text) {
			return -1
		}
		a, b := text[i], s[j]
		if a < utf8.RuneSelf && b < utf8.RuneSelf {
			if a != b && (asciiFold[a] != asciiFold[b] || asciiFold[a] == 0) {
				return -1
			}
			i, j = i+1, j+1
			continue
		}
		rs, ns := utf8.DecodeRune(s[j:])
		if rs == utf8.RuneError && ns == 1 {
			if a != b {
				return -1
			}
			i, j = i+1, j+1
			continue
		}
		rt, nt := utf8.DecodeRune(text[i:])
		if rt == utf8.RuneError && nt == 1 || rt != rs && foldAny(rt) != foldAny(rs) {
			return -1
		}
		i, j = i+nt, j+ns
	}
	return i
}

// foldAny folds a rune that need not be in a word.
func foldAny(r rune) rune {
	if c, f := classify(r); c != gap {
		return f
	}
	return fold(r)
}
