package filter

import "math/bits"

// A keySet is a set of keys, by open addressing. The zero value is empty.
type keySet struct {
	slots []uint64 // a power of two of them, at most half of them taken; 0 is free
	shift uint8    // of a key, to its slot
	n     int
}

const minSlots = 1 << 10

// add reports whether the key is new.
func (s *keySet) add(k uint64) bool {
	for {
		if len(s.slots) > 0 {
			i := s.find(k)
			if s.slots[i] == k {
				return false
			}
			if s.n < len(s.slots)/2 {
				s.slots[i] = k
				s.n++
				return true
			}
		}
		s.grow()
	}
}

// find returns the slot of the key, or the free slot where it would go.
func (s *keySet) find(k uint64) uint64 {
	mask := uint64(len(s.slots) - 1)
	i := k >> s.shift & mask
	for s.slots[i] != k && s.slots[i] != 0 {
		i = (i + 1) & mask
	}
	return i
}

// probe reports whether the key is in its first slot: it is inlined, and true
// for most keys.
func (s *keySet) probe(k uint64) bool {
	i := k >> (s.shift & 63)
	return i < uint64(len(s.slots)) && s.slots[i] == k
}

func (s *keySet) has(k uint64) bool { return s.n > 0 && s.slots[s.find(k)] == k }

func (s *keySet) grow() {
	old := s.slots
	s.resize(max(minSlots, 2*len(old)))
	for _, k := range old {
		if k != 0 {
			s.add(k)
		}
	}
}

func (s *keySet) resize(slots int) {
	s.slots = make([]uint64, slots)
	s.shift = uint8(64 - bits.TrailingZeros(uint(slots)))
	s.n = 0
}

// reset empties the set. If it was nearly empty, its memory is halved, so that
// after one huge block not every later one pays for clearing the slots.
func (s *keySet) reset() {
	if len(s.slots) > minSlots && s.n < len(s.slots)/32 {
		s.resize(len(s.slots) / 2)
		return
	}
	clear(s.slots)
	s.n = 0
}

// all ranges over the keys.
func (s *keySet) all(yield func(uint64) bool) {
	for _, k := range s.slots {
		if k != 0 && !yield(k) {
			return
		}
	}
}
