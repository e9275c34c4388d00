package column

import (
	"bytes"
	"encoding/binary"
)

// KeptBy reports whether all values of a column keep the rule, by its bytes and without
// finding the values: false says that it is not known. count, packed and text are those of
// Open; room is memory.
func (r *Rule) KeptBy(packed, text []byte, count int, room *Column) bool {
	if len(packed) == 0 {
		return false
	}
	switch packed[0] {
	case byte(Constant):
		size, n := binary.Uvarint(packed[1:])
		return n == len(packed)-1 && size == uint64(len(text)) && r.Holds(text)
	case byte(Text):
		return r.keptByText(packed[1:], text)
	case byte(Dictionary):
		return r.keptByEntries(packed[1:], text, count, room)
	}
	return false
}

// keptByText is KeptBy for texts with a byte between them.
func (r *Rule) keptByText(packed, text []byte) bool {
	if len(packed) == 0 || packed[0] == 0 || int(packed[0]) > len(separators) || len(text) == 0 {
		return false
	}
	size, n := binary.Uvarint(packed[1:])
	if n != len(packed)-1 || size != uint64(len(text)) {
		return false
	}
	between := separators[packed[0]-1]
	if r.Check != nil && (text[0] == between || bytes.Contains(text, []byte{between, between})) && !r.Check(nil) {
		return false
	}
	var f byteFinder
	f.find(r.suspect(), between)
	return f.next(text, 0) == len(text)
}

// keptByEntries is KeptBy for a dictionary: the numbers that say which entry each value is are
// skipped.
func (r *Rule) keptByEntries(packed, text []byte, count int, room *Column) bool {
	rd := readers.Get().(*reader)
	rd.packed, rd.text, rd.times = packed, text, nil
	k, err := rd.between(1, count, "distinct values")
	if err == nil {
		err = rd.skip(0, count)
	}
	packed, text = rd.packed, rd.text
	rd.packed, rd.text = nil, nil
	readers.Put(rd)
	if err != nil {
		return false
	}
	if !r.MayBreak(packed) {
		return true
	}
	// Of entries that are a dictionary too, Open tells how deep it may be.
	if packed[0] != byte(Dictionary) && r.KeptBy(packed, text, k, room) {
		return true
	}
	if room.Open(packed, text, k, nil) != nil {
		return false
	}
	room.clearBroken(k)
	return !room.Breaks(room.broken, r)
}
