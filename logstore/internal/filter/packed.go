package filter

import (
	"encoding/binary"
	"fmt"
)

// A packedFuse is a fuse whose slots have fewer than eight bits: with b bits, one
// in 1<<b of the keys that are not in it seems to be.
//
//	| bits of a slot | segment bits | seed | 0 | segments (4) |
//
// It has (segments+2)<<(segment bits) slots, or none if segments is 0. They are
// packed from the lowest bit of the first byte on; a zero byte follows them.
type packedFuse struct {
	fuse
	bits, seed uint8
	slots      []byte // packed
}

const (
	packedHeader   = 8
	maxPackedSlots = 1 << 26 // so that the bits of all fit in 31 bits
)

// size returns the bytes of the packed slots.
func (f *packedFuse) size() int {
	if f.segments == 0 {
		return 0
	}
	return (f.fuse.slots()*int(f.bits)+7)/8 + 1
}

func (f *packedFuse) appendHeader(dst []byte) []byte {
	dst = append(dst, f.bits, f.segmentBits, f.seed, 0)
	return binary.LittleEndian.AppendUint32(dst, f.segments)
}

// readPackedFuse reads a header; the caller sets the slots.
func readPackedFuse(p []byte) (f packedFuse, err error) {
	f.bits, f.segmentBits, f.seed, f.segments = p[0], p[1], p[2], binary.LittleEndian.Uint32(p[4:])
	if f.bits < 1 || f.bits > 8 || f.segmentBits > maxSegmentBits || p[3] != 0 {
		return f, fmt.Errorf("filter: slots of %d bits in segments of 1<<%d; want 1 to 8 bits and at most 1<<%d", f.bits, f.segmentBits, maxSegmentBits)
	}
	if n := (uint64(f.segments) + 2) << f.segmentBits; n > maxPackedSlots {
		return f, fmt.Errorf("filter: %d slots; want at most %d", n, maxPackedSlots)
	}
	return f, nil
}

// appendSlots appends the low bits of each slot that a peeler made.
func (f *packedFuse) appendSlots(dst, slots []byte) []byte {
	if len(slots) == 0 {
		return dst
	}
	var word uint64
	n, mask := 0, uint64(1)<<f.bits-1
	for _, s := range slots {
		word |= uint64(s) & mask << n
		if n += int(f.bits); n >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(word))
			word >>= 32
			n -= 32
		}
	}
	for ; n > 0; n -= 8 {
		dst = append(dst, byte(word))
		word >>= 8
	}
	return append(dst, 0)
}

// has reports whether the fuse has a key, which it may also seem to have.
func (f *packedFuse) has(key uint64) bool {
	if f.segments == 0 {
		return false
	}
	h := hashOf(key, f.seed)
	a, b, c := f.positions(h)
	x := f.at(a) ^ f.at(b) ^ f.at(c) ^ uint16(fingerprint(h))
	return x&(1<<f.bits-1) == 0
}

// at returns a slot, with other bits above it.
func (f *packedFuse) at(slot uint32) uint16 {
	bit := uint64(slot) * uint64(f.bits)
	return binary.LittleEndian.Uint16(f.slots[bit/8:]) >> (bit % 8)
}
