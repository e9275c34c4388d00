package column

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/huff0"
)

// The first byte of a sequence of integers: form, order, and flags.
const (
	formConstant = iota // all are the base
	formBits            // each in the same number of bits
	formHuffman         // symbols as a Huffman code, then extra bits
	formText            // symbols in the text, extra bits
	formSymbol          // one symbol for all, extra bits
	formDistinct        // distinct integers, and which of them each is
	formMask     = 7

	orderNone   = 0 // numbers as they are
	orderDelta  = 1 // differences
	orderDelta2 = 2 // changes of differences
	orderRecent = 3 // ranks by last use: see recency
	orderShift  = 3

	flagDirect = 1 << 5 // symbols are the numbers themselves, all below 256
	flagUnit   = 1 << 6 // numbers are multiples of a unit
	flagRising = 1 << 7 // no difference is negative
)

// splitBits is how many bits a number takes at least where distinct numbers are told
// apart: fewer are hard to beat.
const splitBits = 3

// minHuffman is the fewest symbols that are worth a code of their own.
const minHuffman = 32

// maxTree is more than the bytes of the tree of a code.
const maxTree = 512

// maxHuffman is the most symbols in one Huffman code.
const maxHuffman = 128 << 10

// An intsEncoder encodes sequences of integers, and keeps its memory.
type intsEncoder struct {
	q        [2][]uint64 // integers, less the base, divided by the unit; of one more for formDistinct
	distinct []int64     // for formDistinct
	index    []int64
	tallies  [2]tally
	u        []uint64
	symbols  []byte
	extra    []byte // bits that follow the symbols
	huff     huff0.Scratch
	code     []byte // of huff, valid until its next use
	table    numberTable
}

// weight returns about how many bytes of memory the encoder keeps.
func (e *intsEncoder) weight() int64 {
	n := cap(e.q[0]) + cap(e.q[1]) + cap(e.distinct) + cap(e.index) + cap(e.u) + cap(e.table.keys)
	return 8*int64(n) + 4*int64(cap(e.table.ids)) + int64(cap(e.symbols)+cap(e.extra)+cap(e.huff.Out))
}

// append appends the sequence v, which is not empty, to the two sections.
func (e *intsEncoder) append(packed, text []byte, v []int64) (_, _ []byte) {
	return e.appendAt(0, packed, text, v)
}

func (e *intsEncoder) appendAt(level int, packed, text []byte, v []int64) (_, _ []byte) {
	base, unit, top := e.reduce(level, v)
	if top == 0 {
		packed = append(packed, formConstant)
		return binary.AppendVarint(packed, base), text
	}
	q := e.q[level]
	c := e.choose(q, top)
	if level == 0 && c.repeats && c.bits > splitBits*len(q) {
		if e.split(v, c.bits) {
			packed = append(packed, formDistinct)
			packed = binary.AppendUvarint(packed, uint64(len(e.distinct)))
			packed, text = e.appendAt(1, packed, text, e.distinct)
			return e.appendAt(1, packed, text, e.index)
		}
	}
	head := byte(c.order << orderShift)
	if unit != 1 {
		head |= flagUnit
	}
	if c.direct {
		head |= flagDirect
	}
	at := len(packed)
	packed = binary.AppendVarint(append(packed, head), base)
	if unit != 1 {
		packed = binary.AppendUvarint(packed, unit)
	}
	if c.order == orderNone && !c.symbols {
		packed[at] |= formBits
		return appendBits(packed, q, top), text
	}
	packed = binary.AppendUvarint(packed, top)
	return e.appendSymbols(at, packed, text, q, c)
}

// reduce fills the level's q, unless all integers are the same, and returns what it
// subtracted and then divided by, and the largest number.
func (e *intsEncoder) reduce(level int, v []int64) (base int64, unit, top uint64) {
	lo, hi := v[0], v[0]
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
	if lo == hi {
		return lo, 1, 0
	}
	q := slices.Grow(e.q[level][:0], len(v))[:len(v)]
	for i, x := range v {
		q[i] = uint64(x) - uint64(lo)
	}
	top = uint64(hi) - uint64(lo)
	for _, x := range q {
		if unit = GCD(unit, x); unit == 1 {
			break
		}
	}
	if unit > 1 {
		for i := range q {
			q[i] /= unit
		}
		top /= unit
	}
	e.q[level] = q
	return lo, max(unit, 1), top
}

// GCD returns the greatest number that divides both; that of 0 and b is b.
func GCD(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func appendBits(packed []byte, q []uint64, top uint64) []byte {
	width := uint(bits.Len64(top))
	w := bitWriter{p: append(packed, byte(width))}
	for _, x := range q {
		w.put(x, width)
	}
	w.flush()
	return w.p
}

// appendSymbols appends q in the order of c as symbols. packed[at] is the first byte of
// the sequence.
func (e *intsEncoder) appendSymbols(at int, packed, text []byte, q []uint64, c choice) (_, _ []byte) {
	if c.order == orderDelta || c.order == orderDelta2 {
		packed = binary.AppendUvarint(packed, q[0])
	}
	u := e.ordered(q, c.order)
	if c.order == orderDelta && rising(q) {
		packed[at] |= flagRising
		for i, z := range u {
			u[i] = z >> 1
		}
	}
	e.symbols = e.symbols[:0]
	same := true
	w := bitWriter{p: e.extra[:0]}
	for _, x := range u {
		s, extra := byte(x), uint(0)
		if !c.direct {
			s, extra = symbolOf(x)
			if extra > 0 {
				w.put(x&(1<<extra-1), extra)
			}
		}
		e.symbols = append(e.symbols, s)
		same = same && s == e.symbols[0]
	}
	w.flush()
	e.extra = w.p
	switch {
	case same && len(u) > 0:
		packed[at] |= formSymbol
		packed = append(packed, e.symbols[0])
	case e.huffman(c):
		packed[at] |= formHuffman
		packed = binary.AppendUvarint(packed, uint64(len(e.code)))
		packed = append(packed, e.code...)
	default:
		packed[at] |= formText
		text = append(text, e.symbols...)
	}
	return append(packed, e.extra...), text
}

// huffman encodes the symbols, if that pays.
func (e *intsEncoder) huffman(c choice) bool {
	n := len(e.symbols)
	if n < minHuffman || n > maxHuffman || c.skewed {
		return false
	}
	e.huff.Reuse = huff0.ReusePolicyNone
	if cap(e.huff.Out) < 2*n+maxTree { // which it would make anew each time that it fails
		e.huff.Out = make([]byte, 0, 2*n+maxTree)
	}
	var err error
	e.code, _, err = huff0.Compress1X(e.symbols, &e.huff)
	return err == nil
}

func rising(q []uint64) bool {
	for i, x := range q[1:] {
		if x < q[i] || x-q[i] > 1<<62 {
			return false
		}
	}
	return true
}

// ordered returns what symbols are made of: one number fewer than q for differences.
func (e *intsEncoder) ordered(q []uint64, order int) []uint64 {
	u := e.u[:0]
	switch order {
	case orderNone:
		u = append(u, q...)
	case orderDelta:
		for i, x := range q[1:] {
			u = append(u, Zigzag(int64(x-q[i])))
		}
	case orderDelta2:
		var last uint64
		for i, x := range q[1:] {
			d := x - q[i]
			u = append(u, Zigzag(int64(d-last)))
			last = d
		}
	case orderRecent:
		var r recency
		for _, x := range q {
			u = append(u, r.rank(x))
		}
	}
	e.u = u
	return u
}

// split makes distinct and index of v. It returns false if they would take more than that
// many bits.
func (e *intsEncoder) split(v []int64, most int) bool {
	e.distinct, e.index = e.distinct[:0], e.index[:0]
	e.table.reset(len(v)/2 + 2)
	for _, x := range v {
		i, found := e.table.find(x, len(e.distinct))
		if !found {
			if len(e.distinct) > len(v)/2 {
				return false
			}
			e.distinct = append(e.distinct, x)
		}
		e.index = append(e.index, int64(i))
	}
	lo, hi := slices.Min(e.distinct), slices.Max(e.distinct)
	cost := 32 + len(e.distinct)*bits.Len64(uint64(hi)-uint64(lo))
	if cost >= most || len(e.distinct) < 2 {
		return false
	}
	_, _, top := e.reduce(1, e.index)
	return cost+e.choose(e.q[1], top).bits < most
}
