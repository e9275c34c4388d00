package logstore

import "math/bits"

// A tailIndex knows which tails of a tenant select a stream, so that an append costs
// nothing for the others: thousands of them, mostly, each of which would look at each
// stream. The mutex of tails guards it.
type tailIndex struct {
	slots   []*tail // nil: free
	tails   int
	streams map[Labels]tailSet
	bytes   int64 // of streams, about
}

// A tailSet has a bit for each slot.
type tailSet []uint64

func (s tailSet) set(slot int, to bool) tailSet {
	for to && slot>>6 >= len(s) {
		s = append(s, 0)
	}
	switch {
	case to:
		s[slot>>6] |= 1 << (slot & 63)
	case slot>>6 < len(s):
		s[slot>>6] &^= 1 << (slot & 63)
	}
	return s
}

// or adds the slots of another set.
func (s tailSet) or(other tailSet) tailSet {
	for len(s) < len(other) {
		s = append(s, 0)
	}
	for i, w := range other {
		s[i] |= w
	}
	return s
}

// each calls f for each slot of the set.
func (s tailSet) each(f func(slot int)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			f(i<<6 + bits.TrailingZeros64(w))
		}
	}
}

// tailSetBytes is about the memory of what is known of a stream beside its labels and the
// bits.
const tailSetBytes = 72

func (x *tailIndex) add(t *tail) {
	slot := 0
	for slot < len(x.slots) && x.slots[slot] != nil {
		slot++
	}
	if slot == len(x.slots) {
		x.slots = append(x.slots, nil)
	}
	x.slots[slot] = t
	x.tails++
	for l, set := range x.streams {
		x.bytes -= 8 * int64(cap(set))
		set = set.set(slot, t.selects(l))
		x.bytes += 8 * int64(cap(set))
		x.streams[l] = set
	}
}

func (x *tailIndex) remove(t *tail) {
	for slot, other := range x.slots {
		if other == t {
			x.slots[slot] = nil // add looks at all streams again
			x.tails--
		}
	}
}

// of returns the tails that select a stream. What it finds is kept in most bytes.
func (x *tailIndex) of(l Labels, most int64) tailSet {
	if set, known := x.streams[l]; known {
		return set
	}
	set := make(tailSet, 0, (len(x.slots)+63)/64)
	for slot, t := range x.slots {
		if t != nil && t.selects(l) {
			set = set.set(slot, true)
		}
	}
	size := int64(len(l.enc)) + 8*int64(cap(set)) + tailSetBytes
	if x.streams == nil || x.bytes+size > most {
		x.streams, x.bytes = map[Labels]tailSet{}, 0
	}
	if size <= most {
		x.streams[l] = set
		x.bytes += size
	}
	return set
}

// selects reports whether the selector of the tail selects a stream.
func (t *tail) selects(l Labels) bool { return len(t.selector) == 0 || t.selector.matches(l) }
