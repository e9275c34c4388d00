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
// find. The filter is right only while each line keeps its template: if lines are
// divided in another way, a word that was literal may be in a variable.
//
// Keys are the tokens that Builder has, but for numbers of less than six digits
// and tokens of four bytes with letters and digits. Grams are of three letters,
// four digits, or four letters and digits mixed.
//
// Reset empties the builder and keeps its memory. It is for one goroutine. The zero
// value is ready.
//
// # Measured
//
// Bytes a line of 300,000 lines of eight programs, 145 bytes each, in 42 blocks of
// 1 MiB. The blocks read are those that tokens and parts of tokens of other lines of
// the same programs do not rule out, where the lines have them in the last column:
//
//	whole lines: tokens of 8 bits, grams of four letters    1.47
//	variables: tokens of 8 bits, grams of four letters       1.2
//	... numbers of six digits or more, no tokens of four     .52
//	... tokens of 5 bits instead of 8                        .32
//	grams of letters and mixed ones of 4 bits, some digits   .05
//	grams of digits as bits                                  .12
//	this filter in all                                       .50
//	not taken: numbers of four and five digits as keys        .2
//	not taken: all mixed grams                                .5
//
//	blocks read for             with this filter   have it
//	a token of 12 digits                   0.6 %     0.0 %
//	a token of 7 digits                    0.6 %     0.0 %
//	a token of 5 digits                     38 %       5 %   with keys of 4 bits 11 %
//	a part of 10 digits of a number         15 %       0 %   without grams 100 %
//	a part of 5 digits                      37 %      12 %   without grams 100 %
//	a word of 8 letters in variables       0.2 %     0.0 %
//	a part of 3 letters in variables        10 %
//	a token of 12 of letters and digits     17 %      17 %
//
// Numbers of four and five digits take as much as all longer ones, and columns of
// numbers are searched fast. Grams of digits tell of their parts too.
type VariableBuilder struct {
	tokens         keySet
	letters, mixed keySet               // grams
	digits         [1 << 16 / 64]uint64 // grams, by their digits in four bits each
	bytes          int                  // of lines that were added
	lines          []byte               // lineRead bytes can be read behind it
	text           []byte               // of AddText, and zeros
	copied         []byte               // lines with zeros, if there is no room behind them
	short          [shortSeen]uint64    // variables that were added lately, by hash: their bytes
	long           [longSeen]uint64     // where they are in lines, and their sizes
	folded         []byte
	tokenizer      tokenizer
	list           []uint64
	peeler         peeler
}

const (
	// lineRead is how many bytes can be read behind a line.
	lineRead = 32
	// shortSeen and longSeen are how many variables are remembered, of up to eight
	// bytes and of more, so that they are not looked at again. Powers of two.
	shortSeen, longSeen = 1 << 11, 1 << 10
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
	b.bytes += len(text)
	b.text = append(append(b.text[:0], text...), zeros[:]...)
	b.addSlot(b.text[:len(text)], 0, len(text))
}

// SetLines sets the text whose variables AddVariable adds: all lines of the block,
// each with a byte behind it that is in no word. It is not changed, and kept until
// the next call or Reset.
func (b *VariableBuilder) SetLines(text []byte) {
	b.bytes += len(text)
	clear(b.long[:])
	if n := len(text); n == 0 || isTokenByte(text[n-1]) || cap(text)-n < lineRead {
		b.copied = append(append(b.copied[:0], text...), zeros[:]...)
		text = b.copied[:n]
	}
	b.lines = text
}

// AddVariable adds what is in the lines from offset from to before to, which may be
// equal. Variables that are like each other should follow each other.
func (b *VariableBuilder) AddVariable(from, to uint32) {
	p, start, end := b.lines, int(from), int(to)
	if !b.sawVariable(p[:len(p)+lineRead], start, end) {
		b.addSlot(p, start, end)
	}
}

// sawVariable reports whether p[start:end] was added before, and notes that it is.
// It does not if a word or a quad may go beyond it.
func (b *VariableBuilder) sawVariable(p []byte, start, end int) bool {
	if !endsWords(p[end]) || start > 0 && !endsWords(p[start-1]) {
		return false
	}
	w := binary.LittleEndian.Uint64(p[start:])
	if n := end - start; n <= 8 {
		w &= byteMask[n][0]
		seen := &b.short[w*secret0>>32&(shortSeen-1)]
		if *seen == w {
			return true // zeros are in no word, so that the size does not matter
		}
		*seen = w
		return false
	}
	h := mum(w^secret0, binary.LittleEndian.Uint64(p[end-8:])^secret1)
	seen := &b.long[h&(longSeen-1)]
	at, n := int(*seen>>32), int(uint32(*seen))
	if n == end-start && string(p[at:at+n]) == string(p[start:end]) {
		return true
	}
	*seen = uint64(start)<<32 | uint64(end-start)
	return false
}

// endsWords reports whether no word or quad has the byte.
func endsWords(c byte) bool { return !isTokenByte(c) && c != '.' }

var zeros [lineRead]byte

// addSlot adds the tokens that overlap p[start:end], or extend across it if it is
// empty. lineRead bytes can be read behind p.
func (b *VariableBuilder) addSlot(p []byte, start, end int) {
	from := start
	for from > 0 && from < len(p) && isTokenByte(p[from-1]) && isTokenByte(p[from]) {
		from--
	}
	if from > 0 && (p[from-1] == '.' || isDigit(p[from-1])) {
		b.addQuadsBefore(p, max(0, from-maxQuad), from, start)
	}
	b.addTokens(p, from, start, end)
}

// isTokenByte reports whether a byte may be in a token.
func isTokenByte(c byte) bool { return isHigh(c) || c < utf8.RuneSelf && asciiFold[c] != 0 }

// isHigh reports whether a byte may be of a rune that is not ASCII. 0xff never is.
func isHigh(c byte) bool { return c >= utf8.RuneSelf && c != 0xff }

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

// addTokens adds the tokens that begin in p[at:end] and extend beyond start.
func (b *VariableBuilder) addTokens(p []byte, at, start, end int) {
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
			if at < end && isHigh(p[at]) {
				at = b.addRunes(p, at, start, end)
			} else if at < end && p[at] == 0xff {
				at++
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
		case isHigh(read[stop]):
			at = b.addRunes(p, at, start, end)
			continue
		case read[stop] == '.' && stop-at <= quadDigits:
			b.addQuad(p, at, start)
		}
		b.addWord(read, at, stop, next8)
		at = stop
	}
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
		if t.folded != nil && (t.end == len(p) || !isHigh(p[t.end])) {
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
	clear(b.short[:])
	b.lines = nil
	b.bytes = 0
}
