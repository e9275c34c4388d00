package filter

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// A Builder collects the keys of the texts of a block. Reset empties it and
// keeps its memory. It is for one goroutine. The zero value is ready.
type Builder struct {
	tokens, grams keySet
	bytes         int // of text that was added
	history       history
	tokenizer     tokenizer
	list          []uint64
	peeler        peeler
}

// Add adds a line, or another text of an entry. A needle matches within one
// text, never across two.
//
// Most of a line is in an earlier line of the block too: such a part is skipped
// without looking at its words.
func (b *Builder) Add(text []byte) {
	b.bytes += len(text)
	at, end := b.history.add(text)
	p := b.history.text
	for at < end {
		next8 := binary.LittleEndian.Uint64(p[at:])
		high := next8 & highs
		words := alnum(next8)
		if words&0x80 == 0 {
			if words|high == 0 {
				at += 8
				continue
			}
			at += bits.TrailingZeros64(words|high) / 8
			if p[at] >= utf8.RuneSelf {
				at = b.addRunes(p[:end], at, at+1)
			}
			continue
		}
		if high == 0 {
			if skip := b.history.skip(next8, at, end); skip > at {
				at = skip
				continue
			}
		}
		at = b.addWord(p, at, end, next8, words)
	}
}

// addWord adds the word that begins at start, and returns an offset where a
// token may begin. next8 are the first bytes of the word, and words has their
// alnum.
func (b *Builder) addWord(p []byte, start, size int, next8, words uint64) (end int) {
	n := bits.TrailingZeros64(^words&highs) / 8
	end = start + n
	var h uint64
	if n < 8 {
		h = notZero(wordStep(0, foldASCII(next8&(1<<(8*n)-1)), 0))
	} else {
		for n == 8 {
			n = bits.TrailingZeros64(^alnum(binary.LittleEndian.Uint64(p[end:]))&highs) / 8
			end += n
		}
		h = longKey(p, start, end)
	}
	if p[end] >= utf8.RuneSelf {
		return b.addRunes(p[:size], start, end+1)
	}
	if p[end] == '.' && end-start <= quadDigits && p[start] <= '9' {
		b.addQuad(p[:size], start)
	}
	// Most words are also in the previous line, and the first probe finds them.
	if b.tokens.probe(h) || !b.tokens.add(h) || end-start < gramBytes {
		return end
	}
	f := b.tokenizer.folded[:0]
	for _, c := range p[start:end] {
		f = append(f, asciiFold[c])
	}
	b.tokenizer.folded = f
	b.addGrams(f)
	return end
}

// longKey returns the key of the word p[at:end], of letters and digits; 16 bytes
// can be read behind it.
func longKey(p []byte, at, end int) (h uint64) {
	for ; end-at > 16; at += 16 {
		piece := p[at : at+16]
		h = wordStep(h, foldASCII(binary.LittleEndian.Uint64(piece)), foldASCII(binary.LittleEndian.Uint64(piece[8:])))
	}
	piece, k := p[at:at+16], &byteMask[end-at]
	return notZero(wordStep(h, foldASCII(binary.LittleEndian.Uint64(piece)&k[0]), foldASCII(binary.LittleEndian.Uint64(piece[8:])&k[1])))
}

// addRunes adds the tokens of text from start, where a token may begin. It
// returns an offset where a token may begin, followed by ASCII: upto or more,
// or after the end of text.
func (b *Builder) addRunes(text []byte, start, upto int) int {
	c := &b.tokenizer
	c.reset(text, start)
	defer func() { c.text = nil }() // it is the caller's
	for {
		t, ok := c.next()
		switch {
		case !ok:
			return len(text) + 1
		case t.folded == nil:
			if k := denseKey(0, t.dense); !b.tokens.probe(k) {
				b.tokens.add(k)
			}
			if k := denseKey(t.before, t.dense); t.before != 0 && !b.tokens.probe(k) {
				b.tokens.add(k)
			}
		default:
			if startsQuad(text, t.start, t.end) {
				b.addQuad(text, t.start)
			}
			if b.tokens.add(wordKey(t.folded)) {
				b.addGrams(t.folded)
			}
		}
		if t.end >= upto && t.end < len(text) && text[t.end] < utf8.RuneSelf {
			return t.end
		}
	}
}

func (b *Builder) addQuad(text []byte, start int) {
	if end := quadAt(text, start); end >= 0 {
		b.tokens.add(wordKey(text[start:end]))
	}
}

// addGrams adds the grams of a word that is new to the block.
func (b *Builder) addGrams(folded []byte) {
	b.list = appendGrams(b.list[:0], folded)
	for _, k := range b.list {
		b.grams.add(k)
	}
}

// Reset empties the Builder.
func (b *Builder) Reset() {
	b.tokens.reset()
	b.grams.reset()
	b.history.reset()
	b.bytes = 0
}
