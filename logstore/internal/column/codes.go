package column

import "slices"

// A Coding numbers the values of a column: values with equal codes are equal. Columns that
// have each value once, and which it is of each row, are not made text for that. The zero
// value codes nothing.
type Coding struct {
	c    *Column
	form codingForm
	n    int
	base int64 // the number with code 0
}

type codingForm uint8

const (
	codeOne     codingForm = iota // all values are equal
	codeEach                      // a value's code is its number
	codeEntries                   // it is the number of its entry in the dictionary
	codeNumbers                   // it is its number in c.nums, less base
)

// Coding returns the coding of the values, of which there is at least one. It is valid
// until the next Open.
func (c *Column) Coding() Coding {
	k := Coding{c: c, form: codeEach, n: c.count}
	if c.misses != nil {
		return k
	}
	switch c.kind {
	case Constant:
		k.form, k.n = codeOne, 1
	case Dictionary:
		k.form, k.n = codeEntries, c.subs[0].count
	case Integer, Hex, HexUpper, IPv4, Time:
		low, high := c.nums[0], c.nums[0]
		for _, x := range c.nums {
			low, high = min(low, x), max(high, x)
		}
		if uint64(high)-uint64(low) < uint64(c.count) {
			k.form, k.n, k.base = codeNumbers, int(high-low)+1, low
		}
	}
	return k
}

// Len returns the number of codes, which are below it. Some may be those of no value.
func (k *Coding) Len() int { return k.n }

// Codes fills dst with first and the code of value at[i], for each i; nil stands for the
// values from 0 on.
func (k *Coding) Codes(dst []uint32, at []uint32, first uint32) {
	switch {
	case k.form == codeOne:
		for i := range dst {
			dst[i] = first
		}
	case k.form == codeEach && at == nil:
		for i := range dst {
			dst[i] = first + uint32(i)
		}
	case k.form == codeEach:
		for i, v := range at[:len(dst)] {
			dst[i] = first + v
		}
	case at == nil:
		less := first - uint32(k.base)
		for i, x := range k.c.nums[:len(dst)] {
			dst[i] = less + uint32(x)
		}
	default:
		less, nums := first-uint32(k.base), k.c.nums
		for i, v := range at[:len(dst)] {
			dst[i] = less + uint32(nums[v])
		}
	}
}

// AppendValue appends the value of a code that is below Len.
func (k *Coding) AppendValue(dst []byte, code uint32) []byte {
	c := k.c
	switch k.form {
	case codeOne:
		return appendShort(dst, c.text)
	case codeEntries:
		return c.appendEntry(dst, int(code))
	case codeNumbers:
		return c.appendNumber(dst, k.base+int64(code))
	}
	return c.AppendValue(dst, int(code))
}

// AppendNumbers is Column.AppendNumbers with a number for each code.
func (k *Coding) AppendNumbers(dst []float64, parse func(text []byte) float64) []float64 {
	c, from := k.c, len(dst)
	switch {
	case k.form == codeOne:
		return append(dst, parse(c.text))
	case k.form == codeEntries:
		return c.subs[0].AppendNumbers(dst, parse)
	case k.form == codeEach:
		return c.AppendNumbers(dst, parse)
	}
	dst = slices.Grow(dst, k.n)[:from+k.n]
	if c.kind == Integer {
		for i := range dst[from:] {
			dst[from+i] = float64(k.base + int64(i))
		}
		return dst
	}
	text := c.room
	for i := range dst[from:] {
		text = c.appendNumber(text[:0], k.base+int64(i))
		dst[from+i] = parse(text)
	}
	c.room = text
	return dst
}
