package column

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"slices"
)

// A numberTable finds numbers that were there before.
type numberTable struct {
	keys  []int64
	ids   []uint32 // one more than the number's
	shift uint
}

// reset empties the table, for at most n numbers.
func (t *numberTable) reset(n int) {
	size := 1 << bits.Len(uint(2*n))
	t.keys = slices.Grow(t.keys[:0], size)[:size]
	t.ids = slices.Grow(t.ids[:0], size)[:size]
	clear(t.ids)
	t.shift = uint(64 - bits.Len(uint(2*n)))
}

// find returns the id of x. If x was not there, it gets the id next, and found is false.
func (t *numberTable) find(x int64, next int) (id int, found bool) {
	for i := int(uint64(x) * 0x9e3779b97f4a7c15 >> t.shift); ; i = (i + 1) & (len(t.ids) - 1) {
		if t.ids[i] == 0 {
			t.keys[i], t.ids[i] = x, uint32(next)+1
			return next, false
		}
		if t.keys[i] == x {
			return int(t.ids[i]) - 1, true
		}
	}
}

var seed = maphash.MakeSeed()

// A textTable finds texts that were there before.
type textTable struct {
	slots []textSlot
	shift uint
}

type textSlot struct {
	hash uint32
	id   uint32 // one more than the text's
}

// reset empties the table, for at most n texts.
func (t *textTable) reset(n int) {
	size := 1 << bits.Len(uint(2*n))
	t.slots = slices.Grow(t.slots[:0], size)[:size]
	clear(t.slots)
	t.shift = uint(64 - bits.Len(uint(2*n)))
}

// find returns the id of p among the texts, and adds it if it was not there.
func (t *textTable) find(p []byte, texts *values) (id int, found bool) {
	h := maphash.Bytes(seed, p)
	for i := int(h >> t.shift); ; i = (i + 1) & (len(t.slots) - 1) {
		s := &t.slots[i]
		if s.id == 0 {
			*s = textSlot{uint32(h), uint32(texts.len()) + 1}
			texts.add(p)
			return texts.len() - 1, false
		}
		if s.hash == uint32(h) && bytes.Equal(texts.at(int(s.id)-1), p) {
			return int(s.id) - 1, true
		}
	}
}
