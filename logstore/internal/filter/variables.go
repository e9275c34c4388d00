package filter

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// A VariableBuilder collects the keys of a block whose lines are templates and
// variables: those keys that no literal of a template has whole. A token that a
// literal and a slot share is a key, and so is one of two literals around an
// empty slot. Other words of literals are for the dictionary of templates to
// find. Reset empties the builder and keeps its memory. It is for
// one goroutine. The zero value is ready.
//
// Keys are the tokens that Builder has, but for numbers of less than six digits
// and tokens of four bytes with letters and digits. Grams are of three letters,
// four digits, or four letters and digits mixed.
type VariableBuilder struct {
	tokens         keySet
	letters, mixed keySet               // grams
	digits         [1 << 16 / 64]uint64 // grams, by their digits in four bits each
	bytes          int                  // of lines that were added
	text           []byte               // of the line, and zeros
	recent         [recentLines]cutLine
	folded         []byte
	tokenizer      tokenizer
	list           []uint64
	peeler         peeler
}

const (
	// lineRead is how many bytes can be read behind a line.
	lineRead = 32
	// recentLines is how many lines are kept, so that a variable that is the same as
	// in a line like it is not looked at again. Longer lines are not kept.
	recentLines   = 128
	maxRecentLine = 4 << 10
	// maxLetterGrams and maxMixedGrams bound the grams of a block: one with more
	// has most of those that a needle could ask for.
	maxLetterGrams = 8192
	maxMixedGrams  = 2048
	// maxQuad is the size of the longest quad.
	maxQuad = quadNumbers*(quadDigits+1) - 1
)

// AddText adds a text that no template has a part of, such as the value of
// metadata.
func (b *VariableBuilder) AddText(text []byte) {
	b.AddLine(text, []uint32{0, uint32(len(text))})
}

// A cutLine is a line with zeros behind it, and its slots.
type cutLine struct {
	text  []byte
	slots []uint32
}

// AddLine adds a line. Slots has the offsets in the line where each variable
// begins and ends, in order: two numbers for each slot, equal for an empty one.
// What is outside of all slots is literal.
func (b *VariableBuilder) AddLine(line []byte, slots []uint32) {
	b.bytes += len(line)
	if len(slots) == 0 {
		return
	}
	b.text = append(append(b.text[:0], line...), zeros[:]...)
	p, at := b.text[:len(line)], 0 // nothing before at is left to add
	like := b.like(slots)
	known := len(like.slots) == len(slots)
	for i := 0; i+1 < len(slots); i += 2 {
		start, end := int(slots[i]), int(slots[i+1])
		switch {
		case known && sameVariable(b.text, start, end, like.text, int(like.slots[i]), int(like.slots[i+1])):
			at = max(at, end)
		case end >= at:
			at = b.addSlot(p, at, max(at, start), end)
		}
	}
	if len(line) <= maxRecentLine {
		b.text, like.text = like.text, b.text
		like.slots = append(like.slots[:0], slots...)
	}
}

// like returns a line that may be like the one in b.text, and gives way to it: the
// last one with as many slots, and the same bytes before the last of them.
func (b *VariableBuilder) like(slots []uint32) *cutLine {
	at := max(8, slots[len(slots)-2])
	h := (binary.LittleEndian.Uint64(b.text[at-8:]) + uint64(len(slots))) * secret0
	return &b.recent[h>>32&(recentLines-1)]
}

// sameVariable reports whether p[start:end] and q[from:to] are the same, and no
// word or quad goes beyond them. A byte can be read behind both.
func sameVariable(p []byte, start, end int, q []byte, from, to int) bool {
	if end-start != to-from || p[end] != q[to] || !endsWords(p[end]) {
		return false
	}
	if start > 0 && from > 0 {
		if p[start-1] != q[from-1] || !endsWords(p[start-1]) {
			return false
		}
	} else if start != from {
		return false
	}
	return string(p[start:end]) == string(q[from:to])
}

// endsWords reports whether no word or quad has the byte.
func endsWords(c byte) bool { return !isTokenByte(c) && c != '.' }

var zeros [lineRead]byte

// addSlot adds the tokens that overlap p[start:end], or extend across it if it is
// empty. It returns where the next token may begin; nothing before at need be
// looked at.
func (b *VariableBuilder) addSlot(p []byte, at, start, end int) int {
	from := start
	for from > at && from < len(p) && isTokenByte(p[from-1]) && isTokenByte(p[from]) {
		from--
	}
	if from > at && (p[from-1] == '.' || isDigit(p[from-1])) {
		b.addQuadsBefore(p, max(at, from-maxQuad), from, start)
	}
	return max(start, b.addTokens(p, from, start, end))
}

func isTokenByte(c byte) bool { return c >= utf8.RuneSelf || asciiFold[c] != 0 }

// addQuadsBefore adds the quads that begin in p[at:end] and extend beyond start.
func (b *VariableBuilder) addQuadsBefore(p []byte, at, end, start int) {
	for i := end - 1; i >= at && (p[i] == '.' || isDigit(p[i])); i-- {
		if isDigit(p[i]) && (i == 0 || p[i-1] >= utf8.RuneSelf || asciiFold[p[i-1]] == 0) {
			b.addQuad(p, i, start)
		}
	}
}

// addQuad adds the quad that begins at at, if there is one and it extends beyond
// start.
func (b *VariableBuilder) addQuad(p []byte, at, start int) {
	if end := quadAt(p, at); end > start {
		if h := longKey(p[:len(p)+lineRead], at, end); !b.tokens.probe(h) {
			b.tokens.add(h)
		}
	}
}

// addTokens adds the tokens that begin in p[at:end] and extend beyond start, and
// returns an offset up to which all were looked at. lineRead bytes can be read
// behind p.
func (b *VariableBuilder) addTokens(p []byte, at, start, end int) int {
	read := p[:len(p)+lineRead]
	for at < end {
		next8 := binary.LittleEndian.Uint64(read[at:])
		high := next8 & highs
		words := alnum(next8)
		if skip := shortNumbers(next8, words); skip > 0 {
			at += skip
			continue
		}
		if words&0x80 == 0 {
			at += bits.TrailingZeros64(words|high) / 8
			if at < end && p[at] >= utf8.RuneSelf {
				at = b.addRunes(p, at, start, end)
			}
			continue
		}
		n := bits.TrailingZeros64(^words&highs) / 8
		stop := at + n
		for n == 8 {
			n = bits.TrailingZeros64(^alnum(binary.LittleEndian.Uint64(read[stop:]))&highs) / 8
			stop += n
		}
		switch {
		case read[stop] >= utf8.RuneSelf:
			at = b.addRunes(p, at, start, end)
			continue
		case read[stop] == '.' && stop-at <= quadDigits:
			b.addQuad(p, at, start)
		}
		b.addWord(read, at, stop, next8)
		at = stop
	}
	return min(at, len(p))
}

// shortNumbers returns how many of eight bytes have nothing but gaps and numbers
// that are no keys and begin no quad, as in times. words are those in words, see
// alnum. It is 0 if that is not known of the first of them.
func shortNumbers(next8, words uint64) int {
	letters := next8 << 1 & words // of ASCII, digits have no 0x40
	long := words & (words << 8) & (words << 16) & (words << 24)
	points := next8 ^ '.'*ones
	points = (points - ones) &^ points // and bytes above a point, by the borrow
	if (letters|long|points|next8)&highs != 0 {
		return 0
	}
	return 8 - bits.LeadingZeros64(^words&highs)/8
}

// addWord adds the word p[at:end], of ASCII; next8 are its first bytes.
func (b *VariableBuilder) addWord(p []byte, at, end int, next8 uint64) {
	n := end - at
	var h uint64
	if n > 8 {
		h = longKey(p, at, end)
	} else {
		w := next8
		if n < 8 {
			w &= 1<<(8*n) - 1
		}
		w = foldASCII(w)
		digits := w&(0x40*ones) == 0
		switch {
		case digits && n < gramBytes:
			return
		case digits && n < keyDigits:
			b.addDigits(w, n)
			return
		case n == noKeyMixed && hasDigit(w):
			b.addMixed(p[at:end], w)
			return
		}
		h = notZero(wordStep(0, w, 0))
	}
	if !b.tokens.probe(h) && b.tokens.add(h) && n >= letterGramBytes {
		b.fold(p[at:end])
		b.addGrams(b.folded)
	}
}

// addMixed adds the grams of a word of four bytes, folded in w, that is no key.
func (b *VariableBuilder) addMixed(word []byte, w uint64) {
	letters := w & (0x40 * ones)
	if b.mixed.n > maxMixedGrams && letters&(letters<<8)&(letters<<16) == 0 || b.mixed.probe(gramKey4(uint32(w))) {
		return
	}
	b.fold(word)
	b.addGrams(b.folded)
}

// hasDigit reports whether one of four letters or digits is a digit.
func hasDigit(w uint64) bool { return ^w&0x40404040 != 0 }

// addDigits adds the grams of the n lowest bytes of w, which are digits; n is 4 or
// 5.
func (b *VariableBuilder) addDigits(w uint64, n int) {
	v := uint32(w&15)<<12 | uint32(w>>8&15)<<8 | uint32(w>>16&15)<<4 | uint32(w>>24&15)
	b.digits[v/64] |= 1 << (v % 64)
	if n > gramBytes {
		v = v<<4&0xffff | uint32(w>>32&15)
		b.digits[v/64] |= 1 << (v % 64)
	}
}

func (b *VariableBuilder) fold(word []byte) {
	b.folded = b.folded[:0]
	for _, c := range word {
		b.folded = append(b.folded, asciiFold[c])
	}
}

// addRunes is addTokens for one token or more, the first of which has a rune that
// is not ASCII or begins at one.
func (b *VariableBuilder) addRunes(p []byte, at, start, end int) int {
	c := &b.tokenizer
	c.reset(p, at)
	defer func() { c.text = nil }() // it is the builder's
	for {
		if c.skipGap(end); c.at >= end && c.before == 0 || c.at == len(p) {
			return c.at
		}
		t, _ := c.next()
		if t.end > start {
			b.addToken(p, t, start)
		}
		if t.folded != nil && (t.end == len(p) || p[t.end] < utf8.RuneSelf) {
			return t.end
		}
	}
}

// skipGap advances to the next token, or to end or a little beyond.
func (c *tokenizer) skipGap(end int) {
	for c.at < len(c.text) {
		class, _, size := c.rune()
		if class != gap {
			return
		}
		c.before = 0
		if c.at += size; c.at >= end {
			return
		}
	}
}

// addToken adds a token of p, and a quad that begins with it.
func (b *VariableBuilder) addToken(p []byte, t token, start int) {
	if t.folded == nil {
		b.tokens.add(denseKey(0, t.dense))
		if t.before != 0 {
			b.tokens.add(denseKey(t.before, t.dense))
		}
		return
	}
	if startsQuad(p, t.start, t.end) {
		b.addQuad(p, t.start, start)
	}
	if !isVariableKey(t.folded) || b.tokens.add(wordKey(t.folded)) {
		b.addGrams(t.folded)
	}
}

// addGrams adds the grams of a folded word.
func (b *VariableBuilder) addGrams(folded []byte) {
	var runs gramRuns
	digits := uint32(0) // the last four, in four bits each
	for i, c := range folded {
		digits = digits<<4&0xffff | uint32(c&15)
		kinds := runs.add(c)
		if kinds&letterGram != 0 && b.letters.n <= maxLetterGrams {
			if k := letterGramKey(folded[i-2:]); !b.letters.probe(k) {
				b.letters.add(k)
			}
		}
		if kinds&digitGram != 0 {
			b.digits[digits/64] |= 1 << (digits % 64)
		}
		if kinds&mixedGram != 0 && b.mixed.n <= maxMixedGrams {
			if k := gramKey(folded[i-3:]); !b.mixed.probe(k) {
				b.mixed.add(k)
			}
		}
	}
}

// Reset empties the builder.
func (b *VariableBuilder) Reset() {
	b.tokens.reset()
	b.letters.reset()
	b.mixed.reset()
	clear(b.digits[:])
	for i := range b.recent {
		b.recent[i].slots = b.recent[i].slots[:0]
	}
	b.bytes = 0
}
