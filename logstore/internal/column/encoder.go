package column

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// An Encoder collects the values of one column. Reset empties it and keeps its memory. It
// is for one goroutine. The zero value is ready.
type Encoder struct {
	vals    values
	times   []int64
	levels  [maxDepth + 1]level
	ints    intsEncoder
	texts   textTable
	columns int // so far, those within columns included, and those that will follow
}

// A level is the memory of the columns at one depth.
type level struct {
	nums     []int64
	scales   []int64
	raw      []byte
	missAt   []int64 // values that do not fit
	misses   values  // their texts
	distinct values  // of a dictionary
	pattern  pattern
	parts    []values // of a pattern
}

func (l *level) reset() {
	l.nums, l.scales, l.raw, l.missAt = l.nums[:0], l.scales[:0], l.raw[:0], l.missAt[:0]
	l.misses.reset()
}

func (l *level) miss(i int, v []byte) {
	l.missAt = append(l.missAt, int64(i))
	l.misses.add(v)
}

// Add adds a value, any bytes at all, and copies it. rowTime is the time of its row, in
// nanoseconds: times inside of lines are kept relative to it.
func (e *Encoder) Add(v []byte, rowTime int64) {
	e.vals.add(v)
	e.times = append(e.times, rowTime)
}

// Count returns the number of values. A column has at most MaxCount.
func (e *Encoder) Count() int { return e.vals.len() }

// Bytes returns the bytes of all values.
func (e *Encoder) Bytes() int { return len(e.vals.text) }

// Reset removes all values.
func (e *Encoder) Reset() {
	e.vals.reset()
	e.times = e.times[:0]
}

// Weight returns about how many bytes of memory the Encoder keeps.
func (e *Encoder) Weight() int64 {
	n := e.vals.weight() + 8*int64(cap(e.times)+cap(e.texts.slots)) + e.ints.weight()
	for i := range e.levels {
		n += e.levels[i].weight()
	}
	return n
}

func (l *level) weight() int64 {
	n := 8*int64(cap(l.nums)+cap(l.scales)+cap(l.missAt)) + int64(cap(l.raw)) + l.misses.weight() + l.distinct.weight()
	for i := range l.parts {
		n += l.parts[i].weight()
	}
	return n
}

// Append appends the column of the values to two sections: packed has its kind and
// numbers, which compression makes no smaller; text has texts, often none, which it
// does. A column without values takes no bytes.
func (e *Encoder) Append(packed, text []byte) (_, _ []byte) {
	if e.vals.len() == 0 {
		return packed, text
	}
	e.columns = 1
	return e.encode(0, packed, text, &e.vals)
}

// encode appends the column of v, which is not empty. The caller has counted it.
func (e *Encoder) encode(depth int, packed, text []byte, v *values) (_, _ []byte) {
	if allEqual(v) {
		packed = binary.AppendUvarint(append(packed, byte(Constant)), uint64(len(v.at(0))))
		return packed, append(text, v.at(0)...)
	}
	if depth == 0 {
		if form, ok := e.timeKind(v); ok {
			return e.appendTimes(packed, text, form)
		}
	}
	if kind, param := classify(v); kind != Text {
		if e.parse(depth, v, kind, param) {
			return e.appendNumbers(depth, packed, text, kind, param)
		}
	}
	if e.mayNest(depth) {
		if index := e.distinct(depth, v); index != nil {
			packed = append(packed, byte(Dictionary))
			d := &e.levels[depth].distinct
			packed = binary.AppendUvarint(packed, uint64(d.len()))
			e.columns++
			packed, text = e.encode(depth+1, packed, text, d)
			return e.ints.append(packed, text, index)
		}
	}
	if kind := classifyBytes(v); kind != Text {
		if width, ok := e.parseBytes(depth, v, kind); ok {
			return e.appendRaw(depth, packed, text, kind, width)
		}
	}
	if depth < maxDepth && e.cutAll(depth, v) {
		return e.appendPattern(depth, packed, text)
	}
	return e.appendText(depth, packed, text, v)
}

// mayNest reports whether there may be one more column, a level below depth.
func (e *Encoder) mayNest(depth int) bool { return depth < maxDepth && e.columns < maxColumns }

// allEqual reports whether all values are the same: the text repeats after as many bytes
// as each has.
func allEqual(v *values) bool {
	k := len(v.at(0))
	if len(v.text) != k*v.len() {
		return false
	}
	for i, s := range v.starts {
		if int(s) != i*k {
			return false
		}
	}
	return bytes.Equal(v.text[k:], v.text[:len(v.text)-k])
}

// distinct fills the level's distinct values, and returns which each value is; or nil if
// too many differ: half of them, or, as long ones are worth more, seven of eight.
func (e *Encoder) distinct(depth int, v *values) []int64 {
	l := &e.levels[depth]
	n := v.len()
	most := n / 2
	if len(v.text) >= 16*n {
		most = n - n/8 - 1
	}
	l.distinct.reset()
	l.nums = slices.Grow(l.nums[:0], n)
	index := l.nums
	e.texts.reset(most + 1)
	for i := range n {
		id, _ := e.texts.find(v.at(i), &l.distinct)
		if l.distinct.len() > most {
			index = nil
			break
		}
		index = append(index, int64(id))
	}
	return index
}

// appendMisses appends what tells of the values that do not fit, if there are any.
// packed[at] is the first byte of the column.
func (e *Encoder) appendMisses(depth, at int, packed, text []byte) (_, _ []byte) {
	l := &e.levels[depth]
	if len(l.missAt) == 0 {
		return packed, text
	}
	packed[at] |= flagMiss
	packed = binary.AppendUvarint(packed, uint64(len(l.missAt)))
	e.columns++
	return e.encode(depth+1, packed, text, &l.misses)
}

// appendPlaces appends which values do not fit, if some do not, to the end of their column.
func (e *Encoder) appendPlaces(depth int, packed, text []byte) (_, _ []byte) {
	l := &e.levels[depth]
	if len(l.missAt) == 0 {
		return packed, text
	}
	return e.ints.append(packed, text, l.missAt)
}

// appendNumbers appends a column of the level's numbers.
func (e *Encoder) appendNumbers(depth int, packed, text []byte, kind Kind, param int) (_, _ []byte) {
	at := len(packed)
	packed = append(packed, byte(kind))
	switch {
	case kind == Decimal:
		packed = append(packed, byte(param))
	case param > 1:
		packed[at] |= flagWidth
		packed = append(packed, byte(param))
	}
	packed, text = e.appendMisses(depth, at, packed, text)
	l := &e.levels[depth]
	packed, text = e.ints.append(packed, text, l.nums)
	if kind == Decimal {
		packed, text = e.ints.append(packed, text, l.scales)
	}
	return e.appendPlaces(depth, packed, text)
}

// appendRaw appends a column of the level's raw bytes, width a value.
func (e *Encoder) appendRaw(depth int, packed, text []byte, kind Kind, width int) (_, _ []byte) {
	at := len(packed)
	packed = append(packed, byte(kind))
	if kind == HexBytes {
		packed = append(packed, byte(width))
	}
	packed, text = e.appendMisses(depth, at, packed, text)
	return e.appendPlaces(depth, append(packed, e.levels[depth].raw...), text)
}

// separators are bytes that end values in a text, in the order of preference.
var separators = [...]byte{'\n', 0xff, 0}

// appendText appends a column of texts: with a byte that ends each, or with their lengths
// if all are the same or no such byte is left.
func (e *Encoder) appendText(depth int, packed, text []byte, v *values) (_, _ []byte) {
	packed = append(packed, byte(Text))
	n := v.len()
	same := true
	for i := 1; i < n && same; i++ {
		same = len(v.at(i)) == len(v.at(0))
	}
	if !same {
		for i, s := range separators {
			if bytes.IndexByte(v.text, s) >= 0 {
				continue
			}
			packed = append(packed, byte(i+1))
			packed = binary.AppendUvarint(packed, uint64(len(v.text)+n))
			for i := range n {
				text = append(append(text, v.at(i)...), s)
			}
			return packed, text
		}
	}
	lengths := e.levels[depth].nums[:0]
	for i := range n {
		lengths = append(lengths, int64(len(v.at(i))))
	}
	e.levels[depth].nums = lengths
	packed, text = e.ints.append(append(packed, 0), text, lengths)
	return packed, append(text, v.text...)
}
