package column

import (
	"math"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// A byteSet is a set of bytes: bit b&63 of word b>>6 is byte b.
type byteSet [4]uint64

func (s *byteSet) has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

func (s *byteSet) add(p string) {
	for i := range len(p) {
		s[p[i]>>6] |= 1 << (p[i] & 63)
	}
}

// single reports whether the set has one byte only.
func (s *byteSet) single() bool {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n == 1
}

func (s *byteSet) union(t byteSet) {
	for i := range s {
		s[i] |= t[i]
	}
}

// limits are what is known of all values without looking at them.
type limits struct {
	known       bool
	least, most int // bytes of a value
	bytes       byteSet
}

// mayFold reports whether a value may have the text in it if case is folded.
func (b *limits) mayFold(text []byte) bool {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case r >= utf8.RuneSelf: // which may be a form of k or s
			if b.bytes[2]|b.bytes[3] == 0 && r != '\u212a' && r != '\u017f' {
				return false
			}
		case b.bytes.has(byte(r)) || b.bytes[2]|b.bytes[3] != 0:
		case r|0x20 < 'a' || r|0x20 > 'z' || !b.bytes.has(byte(r)^0x20):
			return false
		}
	}
	return true
}

// Bounds returns the fewest and the most bytes of a value, and the set of bytes that may
// be in values: bit b%64 of word b/64 is byte b. Without values it returns zeros.
func (c *Column) Bounds() (least, most int, bytes [4]uint64) {
	if c.count == 0 {
		return 0, 0, bytes
	}
	b := c.limits()
	return b.least, b.most, b.bytes
}

const allDigits = "0123456789"

// limits returns the limits of all values, of which there is at least one.
func (c *Column) limits() *limits {
	b := &c.limit
	if b.known {
		return b
	}
	*b = limits{known: true}
	switch c.kind {
	case Constant:
		b.least, b.most = len(c.text), len(c.text)
		b.bytes.add(string(c.text))
	case Text:
		c.textLimits(b)
	case Dictionary:
		*b = *c.subs[0].limits()
	case Pattern:
		c.patternLimits(b)
	case Time:
		b.least, b.most = c.form.length(), c.form.length()
		for _, p := range [...]string{allDigits, monthNames, dayNames, ".,:Z", layouts[c.form.layout]} {
			b.bytes.add(p)
		}
	default:
		c.numberLimits(b)
	}
	if c.misses != nil {
		m := c.misses.limits()
		b.least, b.most = min(b.least, m.least), max(b.most, m.most)
		b.bytes.union(m.bytes)
	}
	return b
}

func (c *Column) textLimits(b *limits) {
	b.least = math.MaxInt
	for i := range c.count {
		n := int(c.starts[i+1] - c.starts[i] - c.ends)
		b.least, b.most = min(b.least, n), max(b.most, n)
	}
	b.bytes = byteSet{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}
}

func (c *Column) patternLimits(b *limits) {
	for _, lit := range c.literals {
		b.least += len(lit)
		b.most += len(lit)
		b.bytes.add(string(lit))
	}
	for _, p := range c.subs[:c.parts] {
		l := p.limits()
		b.least += l.least
		b.most = int(min(uint(b.most)+uint(l.most), math.MaxInt))
		b.bytes.union(l.bytes)
	}
}

func (c *Column) numberLimits(b *limits) {
	b.bytes.add(allDigits)
	switch c.kind {
	case IPv4:
		b.least, b.most = len("0.0.0.0"), len("255.255.255.255")
		b.bytes.add(".")
	case UUID:
		b.least, b.most = uuidLength, uuidLength
		b.bytes.add("abcdef-")
	case HexBytes:
		b.least, b.most = 2*c.param, 2*c.param
		b.bytes.add("abcdef")
	case Decimal:
		b.least, b.most = 1, maxDigits+2
		b.bytes.add("-.")
	default:
		c.integerLimits(b)
	}
}

func (c *Column) integerLimits(b *limits) {
	lo, hi := c.nums[0], c.nums[0]
	for _, x := range c.nums {
		lo, hi = min(lo, x), max(hi, x)
	}
	var room [24]byte
	switch c.kind {
	case Hex, HexUpper:
		b.bytes.add("abcdef")
		if c.kind == HexUpper {
			b.bytes = byteSet{}
			b.bytes.add(upperAlphabet)
		}
		b.least, b.most = max(c.param, 1), 16
		if lo >= 0 {
			b.least = len(appendHex(room[:0], lo, c.param, lowerAlphabet))
			b.most = len(appendHex(room[:0], hi, c.param, lowerAlphabet))
		}
		return
	}
	least, most := len(appendInteger(room[:0], lo, c.param)), len(appendInteger(room[:0], hi, c.param))
	if lo < 0 {
		b.bytes.add("-")
		least, most = max(c.param, 1), max(least, most)
	}
	b.least, b.most = least, most
}

// Weight returns about how many bytes of memory the Column keeps, but for those of a Memory
// that others use too.
func (c *Column) Weight() int64 {
	if c == nil {
		return 0
	}
	if !c.held && !c.heavier {
		return c.weighed
	}
	w := int64(unsafe.Sizeof(*c)) + int64(8*(cap(c.floats)+cap(c.hits[0])+cap(c.hits[1])+cap(c.broken)+cap(c.partHits))+cap(c.room)) +
		int64(cap(c.literals))*int64(unsafe.Sizeof(c.text)) + int64(cap(c.pieces))*int64(unsafe.Sizeof(chunk{})) + c.spare.Weight()
	if c.private {
		w += c.memory.Weight()
	}
	for _, s := range c.subs {
		w += s.Weight()
	}
	c.weighed, c.heavier = w, false
	return w
}
