package filter

import (
	"math"
	"math/bits"
)

// A fuse is the shape of a binary fuse filter (Graf, Lemire: Binary Fuse
// Filters: Fast and Smaller Than Xor Filters, JEA 2022) with one byte in each
// slot. A key has three slots, in three consecutive segments, and is in the
// filter if the exclusive or of the three bytes is its fingerprint. One in 256
// of the keys that are not in the filter seems to be.
type fuse struct {
	segmentBits uint8
	segments    uint32 // where the first slot of a key may be; there are two more
}

func (f fuse) slots() int {
	if f.segments == 0 {
		return 0
	}
	return int(f.segments+2) << f.segmentBits
}

// positions returns the three slots of a hash.
func (f fuse) positions(h uint64) (a, b, c uint32) {
	hi, _ := bits.Mul64(h, uint64(f.segments)<<f.segmentBits)
	length := uint32(1) << f.segmentBits
	a = uint32(hi)
	b = (a + length) ^ uint32(h>>18)&(length-1)
	c = (a + 2*length) ^ uint32(h)&(length-1)
	return a, b, c
}

func fingerprint(h uint64) uint8 { return uint8(h ^ h>>32) }

// hashOf is the last step of MurmurHash3, over a key and a seed.
func hashOf(key uint64, seed uint8) uint64 {
	h := key + uint64(seed)*secret0
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return h
}

func (f fuse) has(slots []byte, h uint64) bool {
	a, b, c := f.positions(h)
	return slots[a]^slots[b]^slots[c] == fingerprint(h)
}

// fuseFor returns the shape of a filter of n keys at the given attempt. The
// formulas are those of the paper, but segments have half the length: for some
// thousand keys that takes 3 % less space, and one attempt in ten fails.
func fuseFor(n, attempt int) fuse {
	if n == 0 {
		return fuse{}
	}
	logN := math.Log(float64(n))
	segmentBits := min(max(1, int(logN/math.Log(3.33)+1.25)), maxSegmentBits)
	slots := float64(n) * max(1.125, 0.875+0.25*math.Log(1e6)/max(1, logN))
	segments := (int(slots)+1<<(segmentBits-1))>>segmentBits + attempt/2
	return fuse{uint8(segmentBits), uint32(max(3, segments) - 2)}
}

// A peeler builds filters, and keeps its memory.
type peeler struct {
	sums    []uint64 // of the hashes of a slot, by exclusive or
	counts  []uint8  // how many there are, times 4, and which of their slots it is, by exclusive or
	singles []uint32 // slots of one hash
	order   []uint64 // hashes, each alone in a slot once those before it are taken away
	which   []uint8  // which of its slots that is
	out     []byte
}

// build returns a filter of keys, which are distinct, with its seed and its
// slots, valid until the next call. It fails only for keys chosen to make it
// fail.
func (p *peeler) build(keys []uint64) (f fuse, seed uint8, slots []byte, ok bool) {
	for attempt := range maxAttempts {
		f, seed = fuseFor(len(keys), attempt), uint8(attempt)
		if p.peel(f, seed, keys) {
			return f, seed, p.assign(f), true
		}
	}
	return fuse{}, 0, nil, false
}

const maxAttempts = 64

func (p *peeler) peel(f fuse, seed uint8, keys []uint64) bool {
	n := f.slots()
	p.sums, p.counts = resize(p.sums, n), resize(p.counts, n)
	sums, counts := p.sums, p.counts
	clear(sums)
	clear(counts)
	full := false
	for _, k := range keys {
		h := hashOf(k, seed)
		a, b, c := f.positions(h)
		sums[a] ^= h
		sums[b] ^= h
		sums[c] ^= h
		counts[a] += 4
		counts[b] = (counts[b] + 4) ^ 1
		counts[c] = (counts[c] + 4) ^ 2
		full = full || counts[a] < 4 || counts[b] < 4 || counts[c] < 4 // more than 63
	}
	if full {
		return false
	}
	p.singles, p.order, p.which = resize(p.singles, n)[:0], resize(p.order, n)[:0], resize(p.which, n)[:0]
	for i, c := range counts {
		if c>>2 == 1 {
			p.singles = append(p.singles, uint32(i))
		}
	}
	for len(p.singles) > 0 {
		at := p.singles[len(p.singles)-1]
		p.singles = p.singles[:len(p.singles)-1]
		if counts[at]>>2 != 1 {
			continue // its hash was taken away meanwhile
		}
		h, which := sums[at], counts[at]&3
		p.order = append(p.order, h)
		p.which = append(p.which, which)
		var pos [3]uint32
		pos[0], pos[1], pos[2] = f.positions(h)
		for j := range uint8(3) {
			if j == which {
				continue
			}
			o := pos[j]
			if counts[o]>>2 == 2 {
				p.singles = append(p.singles, o)
			}
			counts[o] = (counts[o] - 4) ^ j
			sums[o] ^= h
		}
		counts[at] = 0
	}
	return len(p.order) == len(keys)
}

// assign sets the slots in reverse order, so that no slot changes after it was
// read.
func (p *peeler) assign(f fuse) []byte {
	p.out = resize(p.out, f.slots())
	clear(p.out)
	for i := len(p.order) - 1; i >= 0; i-- {
		h := p.order[i]
		var pos [3]uint32
		pos[0], pos[1], pos[2] = f.positions(h)
		v := fingerprint(h) ^ p.out[pos[0]] ^ p.out[pos[1]] ^ p.out[pos[2]]
		p.out[pos[p.which[i]]] = v
	}
	return p.out
}

// resize returns n elements, in the memory of s unless that is too small or far
// too large.
func resize[T any](s []T, n int) []T {
	if cap(s) < n || cap(s)/64 > n+minSlots {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}
