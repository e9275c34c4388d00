package column

import (
	"encoding/binary"
	"math/bits"
)

// A byteFinder finds bytes of a set, eight bytes at a time where the set is a range from 0
// on, all bytes from 0x80 on or none of them, and a few others.
type byteFinder struct {
	set   byteSet
	wide  bool   // eight at a time; what follows is for that
	below uint64 // 0x80 less the end of the range, eight times
	high  uint64 // 0x80 eight times, or 0
	but   uint64 // a byte that is not found, eight times
	less  uint64 // 0x80 eight times, or 0 if there is none
	some  [maxSome]uint64
	n     int // of some: other bytes, each eight times
}

const (
	maxSome = 5
	each    = 0x0101010101010101
	tops    = 0x80 * each
)

// find makes f find the bytes of a set but one, which may be none of it.
func (f *byteFinder) find(set byteSet, but byte) {
	f.findAll(set)
	f.set[but/64] &^= 1 << (but % 64)
	f.but, f.less = uint64(but)*each, tops
}

// findAll makes f find the bytes of a set.
func (f *byteFinder) findAll(set byteSet) {
	*f = byteFinder{set: set}
	end := 0
	for end < 0x80 && set.has(byte(end)) {
		end++
	}
	f.below = uint64(0x80-end) * each
	switch set[2] | set[3] {
	case 0:
	case ^uint64(0):
		f.high = tops
		if set[2]&set[3] != ^uint64(0) {
			return
		}
	default:
		return
	}
	for b := end; b < 0x80; b++ {
		if set.has(byte(b)) {
			if f.n == maxSome {
				return
			}
			f.some[f.n] = uint64(b) * each
			f.n++
		}
	}
	f.wide = true
}

// equal returns the highest bit of each byte of x that is the same in y.
func equal(x, y uint64) uint64 {
	x ^= y
	return ^(x&^tops + ^uint64(tops) | x) & tops
}

// hits returns the highest bit of each byte of x that is found.
func (f *byteFinder) hits(x uint64) uint64 {
	h := ^(x&^tops+f.below|x)&tops | x&f.high
	for _, b := range f.some[:f.n] {
		h |= equal(x, b)
	}
	return h &^ (equal(x, f.but) & f.less)
}

// next returns where the first byte that is found is in p, from a place on; len(p) if there
// is none.
func (f *byteFinder) next(p []byte, from int) int {
	if f.wide {
		for ; from+8 <= len(p); from += 8 {
			if h := f.hits(binary.LittleEndian.Uint64(p[from:])); h != 0 {
				return from + bits.TrailingZeros64(h)/8
			}
		}
	}
	for ; from < len(p) && !f.set.has(p[from]); from++ {
	}
	return from
}
