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
		return r.keptByEntries(packed, text, count, room)
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
// not read.
func (r *Rule) keptByEntries(packed, text []byte, count int, room *Column) bool {
	k, n := binary.Uvarint(packed[1:])
	if n <= 0 || k == 0 || k > uint64(count) {
		return false
	}
	entries := packed[1+n:]
	if !r.MayBreak(entries) {
		return true
	}
	if len(entries) > 2 && entries[0] == byte(Text) && entries[1] > 0 { // nothing else but their length
		size, n := binary.Uvarint(entries[2:])
		if n > 0 && size <= uint64(len(text)) && r.keptByText(entries[1:2+n], text[:size]) {
			return true
		}
	}
	if !room.OpenPart(packed, text, count) {
		return false
	}
	room.clearBroken(room.count)
	return !room.Breaks(room.broken, r)
}
