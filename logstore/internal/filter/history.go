package filter

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	// historySize is how many bytes of texts are kept: the more, the more of a
	// line is found, and the less of the text is in the processor's cache.
	historySize = 256 << 10
	// historyPad is how many zeros follow a text, so that a word at its end has
	// eight bytes to compare.
	historyPad = 8
	// historyRead is how many bytes can be read behind a text.
	historyRead = 32

	seenBits = 14

	// maxSkip is how many bytes are compared and maxCut how many of those given
	// back, so that texts made to repeat without end do not take long.
	maxSkip = 256
	maxCut  = 32
)

// A history has the latest texts of a block, and finds parts of a text that
// are in it. The zero value is ready.
type history struct {
	text []byte // texts and zeros; nothing before 1, so that 0 is no offset
	next int    // where the next text goes
	// seen has offsets where words begin, by the hash of eight bytes.
	seen [1 << seenBits]uint32
}

// add adds a text, and returns where it is in h.text. Zeros follow it.
func (h *history) add(text []byte) (at, end int) {
	if h.next == 0 || h.next+len(text)+historyRead > len(h.text) {
		h.reset()
		h.next = 1
		if need := 1 + len(text) + historyRead; len(h.text) < need {
			h.text = make([]byte, max(historySize, need+need/2))
		}
	}
	at = h.next
	end = at + copy(h.text[at:], text)
	binary.LittleEndian.PutUint64(h.text[end:], 0)
	h.next = end + historyPad
	return at, end
}

// reset forgets all texts.
func (h *history) reset() {
	if h.next > 1 {
		clear(h.seen[:])
	}
	h.next = 0
}

// skip returns the end of the longest part of the text from at on that is in an
// earlier text, in which a word begins too, and that ends behind a word. It is at
// if there is no such part. A word begins at at, and next8 has its eight bytes from there
// on, all of them ASCII; the text ends at end.
func (h *history) skip(next8 uint64, at, end int) int {
	seen := &h.seen[next8*secret0>>(64-seenBits)]
	from := int(*seen)
	*seen = uint32(at)
	p := h.text
	if from == 0 || binary.LittleEndian.Uint64(p[from:]) != next8 {
		return at
	}
	n, limit := 8, min(end+1-at, maxSkip)
	for n < limit {
		v := binary.LittleEndian.Uint64(p[at+n:])
		if differ := v ^ binary.LittleEndian.Uint64(p[from+n:]) | v&highs; differ != 0 {
			n += bits.TrailingZeros64(differ) / 8
			break
		}
		n += 8
	}
	return cutBack(p, at, at+min(n, limit))
}

// cutBack returns the last offset from at to stop that neither a word nor a quad
// which begins before it extends across, or at.
func cutBack(p []byte, at, stop int) int {
	for floor := max(at, stop-maxCut); stop > floor; stop-- {
		c := p[stop-1]
		if asciiFold[c%utf8.RuneSelf] != 0 {
			continue
		}
		if before := p[stop-2]; c == '.' && before >= '0' && before <= '9' {
			continue
		}
		return stop
	}
	return at
}
