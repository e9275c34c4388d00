package filter

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// A class is the role of a rune in tokens.
type class uint8

const (
	gap   class = iota // belongs to no token
	word               // a letter, digit or mark: the longest run of them is a token
	dense              // the same of a script that is written without spaces: each one is a token
)

// denseBlocks are the scripts that do not separate words by spaces, and Hangul,
// which attaches particles to words. They are given by blocks and not by
// unicode.Scripts because signs such as U+30FC, which lengthens a vowel in both
// kinds of kana, have no script of their own.
var denseBlocks = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0e00, Hi: 0x109f, Stride: 1}, // Thai, Lao, Tibetan, Myanmar
		{Lo: 0x1100, Hi: 0x11ff, Stride: 1}, // Hangul jamo
		{Lo: 0x1780, Hi: 0x17ff, Stride: 1}, // Khmer
		{Lo: 0x1950, Hi: 0x19ff, Stride: 1}, // Tai Le, New Tai Lue, Khmer symbols
		{Lo: 0x1a20, Hi: 0x1aaf, Stride: 1}, // Tai Tham
		{Lo: 0x3005, Hi: 0x3007, Stride: 1}, // ideographic iteration and zero
		{Lo: 0x3021, Hi: 0x3029, Stride: 1},
		{Lo: 0x3031, Hi: 0x303c, Stride: 1},
		{Lo: 0x3040, Hi: 0x31ff, Stride: 1}, // Hiragana to Katakana extensions
		{Lo: 0x3400, Hi: 0x4dbf, Stride: 1}, // Han
		{Lo: 0x4e00, Hi: 0x9fff, Stride: 1},
		{Lo: 0xa960, Hi: 0xa97f, Stride: 1}, // Hangul
		{Lo: 0xa9e0, Hi: 0xa9ff, Stride: 1}, // Myanmar
		{Lo: 0xaa60, Hi: 0xaa7f, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7ff, Stride: 1}, // Hangul
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1}, // Han
		{Lo: 0xff66, Hi: 0xffdc, Stride: 1}, // half-width Katakana and Hangul
	},
	R32: []unicode.Range32{
		{Lo: 0x1aff0, Hi: 0x1b16f, Stride: 1}, // kana
		{Lo: 0x20000, Hi: 0x3ffff, Stride: 1}, // Han
	},
}

// Runes below tableRunes are looked up in a table, and common ones above by
// their block; the others take some searches in the tables of package unicode.
const tableRunes = 0x3000

type runeClass struct {
	folded uint16
	class  class
}

// runeTable is made for the first text that is not ASCII.
var runeTable = sync.OnceValue(func() *[tableRunes]runeClass {
	var t [tableRunes]runeClass
	for r := range rune(tableRunes) {
		c, f := classifySlowly(r)
		t[r] = runeClass{uint16(f), c} // the smallest of an orbit is not above r
	}
	return &t
})

// classify returns the class of a rune, and the rune that represents all its
// cases.
func classify(r rune) (class, rune) {
	switch {
	case r < tableRunes:
		c := &runeTable()[r]
		return c.class, rune(c.folded)
	case r >= 0x4e00 && r < 0x9ff0, r >= 0xac00 && r <= 0xd7a3:
		return dense, r
	}
	return classifySlowly(r)
}

func classifySlowly(r rune) (class, rune) {
	if !unicode.In(r, unicode.L, unicode.N, unicode.M) {
		return gap, r
	}
	if unicode.Is(denseBlocks, r) {
		return dense, r
	}
	return word, fold(r)
}

// fold returns the smallest rune that unicode.SimpleFold leads to.
func fold(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// asciiFold maps a letter or digit to its folded byte, and other bytes to 0.
var asciiFold = func() (t [utf8.RuneSelf]byte) {
	for c := range byte(utf8.RuneSelf) {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z':
			t[c] = c
		case c >= 'a' && c <= 'z':
			t[c] = c - 'a' + 'A'
		}
	}
	return t
}()

// A tokenizer splits a text into tokens. Bytes that are not UTF-8 belong to no
// token.
type tokenizer struct {
	text   []byte
	at     int
	before rune // the dense rune that ends at at, or 0
	folded []byte
}

func (c *tokenizer) reset(text []byte, at int) { c.text, c.at, c.before = text, at, 0 }

// A token is text[start:end].
type token struct {
	start, end int
	folded     []byte // of a word, until the next one; nil of a dense rune
	dense      rune
	before     rune // the dense rune right before it, or 0
}

// next returns the next token. Folding never makes a word longer, so the memory
// of the tokenizer is bounded by the text.
func (c *tokenizer) next() (t token, ok bool) {
	c.folded = c.folded[:0]
	for c.at < len(c.text) {
		cl, f, size := c.rune()
		if cl != word && len(c.folded) > 0 {
			break
		}
		at, before := c.at, c.before
		c.at += size
		c.before = 0
		switch cl {
		case word:
			if len(c.folded) == 0 {
				t.start = at
			}
			c.folded = utf8.AppendRune(c.folded, f)
		case dense:
			c.before = f
			return token{start: at, end: c.at, dense: f, before: before}, true
		}
	}
	if len(c.folded) == 0 {
		return token{}, false
	}
	t.end, t.folded = c.at, c.folded
	return t, true
}

// rune decodes the rune at c.at.
func (c *tokenizer) rune() (cl class, folded rune, size int) {
	if b := c.text[c.at]; b < utf8.RuneSelf {
		if f := asciiFold[b]; f != 0 {
			return word, rune(f), 1
		}
		return gap, 0, 1
	}
	r, size := utf8.DecodeRune(c.text[c.at:])
	if size == 1 {
		return gap, 0, 1
	}
	cl, folded = classify(r)
	return cl, folded, size
}
