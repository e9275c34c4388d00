package logstore

import (
	"cmp"
	"math/bits"
	"slices"
)

// A tailIndex knows which tails of a tenant select a stream, so that an append costs
// nothing for the others: thousands of them, mostly, each of which would look at each
// stream. A tail that is added is asked about a stream when that has entries next: so it
// stops no append while it is asked about all. The mutex of tails guards the index.
type tailIndex struct {
	slots   []*tail // nil: free
	order   []*tail // by number
	last    uint64  // number of the last tail that was added
	tails   int
	streams map[Labels]indexedStream
	bytes   int64 // of streams, about
}

// An indexedStream is what the index knows of a stream.
type indexedStream struct {
	set  tailSet
	last uint64 // the number of the last tail that was asked
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

// indexedBytes is about the memory of what is known of a stream beside its labels and the
// bits.
const indexedBytes = 80

func (s indexedStream) size(l Labels) int64 {
	return int64(len(l.enc)) + 8*int64(cap(s.set)) + indexedBytes
}

func (x *tailIndex) add(t *tail) {
	slot := slices.Index(x.slots, nil)
	if slot < 0 {
		slot = len(x.slots)
		x.slots = append(x.slots, nil)
	}
	x.last++
	t.slot, t.number = slot, x.last
	x.slots[slot] = t
	x.order = append(x.order, t)
	x.tails++
}

func (x *tailIndex) remove(t *tail) {
	i := slices.Index(x.order, t)
	if i < 0 {
		return
	}
	x.order = slices.Delete(x.order, i, i+1)
	x.slots[t.slot] = nil // the next tail there is asked about all streams
	x.tails--
}

// of returns the tails that select a stream; some of the slots may be free. What it finds
// is kept, and grown is by how many bytes that is more than before.
func (x *tailIndex) of(l Labels) (set tailSet, grown int64) {
	s, known := x.streams[l]
	if known && s.last == x.last {
		return s.set, 0
	}
	before := int64(0)
	if known {
		before = s.size(l)
	}
	i, _ := slices.BinarySearchFunc(x.order, s.last+1, func(t *tail, number uint64) int { return cmp.Compare(t.number, number) })
	for _, t := range x.order[i:] {
		s.set = s.set.set(t.slot, t.selects(l))
	}
	s.last = x.last
	if x.streams == nil {
		x.streams = map[Labels]indexedStream{}
	}
	x.streams[l] = s
	grown = s.size(l) - before
	x.bytes += grown
	return s.set, grown
}

// forget forgets all streams.
func (x *tailIndex) forget() { x.streams, x.bytes = nil, 0 }

// indexOf returns the tails of x that select a stream. What the indexes of all tenants keep
// is bounded: at the limit all is forgotten.
func (ts *tails) indexOf(x *tailIndex, l Labels) tailSet {
	set, grown := x.of(l)
	if ts.indexed += grown; ts.indexed > ts.memory/8 {
		for _, x := range ts.byTenant {
			x.forget()
		}
		ts.indexed = 0
	}
	return set
}

// selects reports whether the selector of the tail selects a stream.
func (t *tail) selects(l Labels) bool { return len(t.selector) == 0 || t.selector.matches(l) }
