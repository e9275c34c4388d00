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
	bytes         int    // of text that was added
	padded        []byte // the text, and zeros, so that every word can be read in whole pieces
	tokenizer     tokenizer
	list          []uint64
	peeler        peeler
}

// Add adds a line, or another text of an entry. A needle matches within one
// text, never across two.
func (b *Builder) Add(text []byte) {
	b.bytes += len(text)
	const padding = 64 + 16
	if need := len(text) + padding; cap(b.padded) < need {
		b.padded = make([]byte, need+need/2)
	}
	p := b.padded[:len(text)+padding]
	clear(p[copy(p, text):])

	start := -1 // of the word that is not at its end
	inside := uint64(0)
	for base := 0; base <= len(text); {
		chunk := p[base : base+64]
		var words, high uint64
		for i := 0; i < 64 && base+i < len(text); i += 8 {
			w := binary.LittleEndian.Uint64(chunk[i:])
			high |= w
			words |= highBits(alnum(w)) << i
		}
		if high&highs != 0 {
			if start < 0 {
				start = base
			}
			base = b.addRunes(text, start, base+64)
			start, inside = -1, 0
			continue
		}
		edges := words ^ (words<<1 | inside)
		inside = words >> 63
		if start >= 0 && edges != 0 {
			b.addASCII(p, len(text), start, base+bits.TrailingZeros64(edges))
			edges &= edges - 1
			start = -1
		}
		for edges != 0 {
			start = base + bits.TrailingZeros64(edges)
			if edges &= edges - 1; edges == 0 {
				break // it goes on in the next chunk
			}
			end := base + bits.TrailingZeros64(edges)
			edges &= edges - 1
			b.addASCII(p, len(text), start, end)
			start = -1
		}
		base += 64
	}
}

// addASCII adds the word p[start:end] of the text p[:size]; 16 bytes can be read
// behind it.
func (b *Builder) addASCII(p []byte, size, start, end int) {
	h, at := uint64(0), start
	for ; end-at > 16; at += 16 {
		piece := p[at : at+16]
		h = wordStep(h, foldASCII(binary.LittleEndian.Uint64(piece)), foldASCII(binary.LittleEndian.Uint64(piece[8:])))
	}
	piece, k := p[at:at+16], &byteMask[end-at]
	h = notZero(wordStep(h, foldASCII(binary.LittleEndian.Uint64(piece)&k[0]), foldASCII(binary.LittleEndian.Uint64(piece[8:])&k[1])))
	if p[end] == '.' && end-start <= quadDigits {
		b.addQuad(p[:size], start)
	}
	// Most words are also in the previous line, and the first probe finds them.
	if b.tokens.probe(h) || !b.tokens.add(h) || end-start < gramBytes {
		return
	}
	f := b.tokenizer.folded[:0]
	for _, c := range p[start:end] {
		f = append(f, asciiFold[c])
	}
	b.tokenizer.folded = f
	b.addGrams(f)
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
	b.bytes = 0
}
