package filter

import (
	"math/bits"
	"slices"
)

// A SetBuilder makes sets of 64-bit keys, which are filters too: a key that was
// added is in the set, and one in 256 of the others seems to be. Unlike the
// filter of a block a set has no header, no checksum and no version of Unicode:
//
//	no bytes:  the empty set
//	one byte:  0xff, a set that seems to have every key
//	else:      | segment bits | seed | slots ... |
//
// The zero value is ready. It is for one goroutine.
type SetBuilder struct {
	keys   []uint64
	peeler peeler
}

// everyKey is the set that rules nothing out.
const everyKey = 0xff

// Add adds a key, any number of times.
func (b *SetBuilder) Add(key uint64) { b.keys = append(b.keys, key) }

// Append appends the set of all added keys, and removes them.
func (b *SetBuilder) Append(dst []byte) []byte {
	slices.Sort(b.keys)
	keys := slices.Compact(b.keys)
	b.keys = b.keys[:0]
	if len(keys) == 0 {
		return dst
	}
	f, seed, slots, ok := b.peeler.build(keys)
	if !ok {
		return append(dst, everyKey)
	}
	return append(append(dst, f.segmentBits, seed), slots...)
}

// InSet reports whether a set may have a key. A set that is not well-formed
// rules nothing out.
func InSet(set []byte, key uint64) bool {
	if len(set) == 0 {
		return false
	}
	if !IsSet(set) || set[0] == everyKey {
		return true
	}
	slots := set[2:]
	f := fuse{set[0], uint32(len(slots)>>set[0]) - 2}
	return f.has(slots, hashOf(key, set[1]))
}

// IsSet reports whether a set is well-formed.
func IsSet(set []byte) bool {
	switch {
	case len(set) == 0:
		return true
	case set[0] == everyKey:
		return len(set) == 1
	case len(set) < 2 || set[0] > maxSegmentBits:
		return false
	}
	slots := len(set) - 2
	return slots&(1<<set[0]-1) == 0 && slots>>set[0] >= 3 && bits.Len(uint(slots)) <= 31
}

// KeyOf returns a key for some bytes: all its bits are about equally likely.
func KeyOf[T string | []byte](p T) uint64 {
	h := uint64(len(p)) * secret4
	for ; len(p) > 16; p = p[16:] {
		h = mum(h^load(p, 0, 8)^secret0, load(p, 8, 16)^secret1)
	}
	n := len(p)
	h = mum(h^load(p, 0, min(n, 8))^secret0, load(p, min(n, 8), n)^secret1)
	return mum(h^secret2, secret3)
}

// load returns the bytes of p in [from, to), at most 8, as a number.
func load[T string | []byte](p T, from, to int) (v uint64) {
	if to-from == 8 {
		p = p[from:to]
		return uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16 | uint64(p[3])<<24 |
			uint64(p[4])<<32 | uint64(p[5])<<40 | uint64(p[6])<<48 | uint64(p[7])<<56
	}
	for i := from; i < to; i++ {
		v |= uint64(p[i]) << (8 * (i - from))
	}
	return v
}
