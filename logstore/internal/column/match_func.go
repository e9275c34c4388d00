package column

// A Place is what values have somewhere: one of the bytes of a set, or, if Many, any number of
// them, which may be none. Bit b%64 of word b/64 is byte b.
type Place struct {
	Bytes [4]uint64
	Many  bool
}

// Places appends what values of a column have, from their first bytes to the last. ok is false
// if nothing is known; bytes that are not of ASCII are in places of many. packed and text are
// as of Open, which need not have been called.
func Places(dst []Place, packed, text []byte) (_ []Place, ok bool) {
	if len(packed) == 0 || packed[0]&flagMiss != 0 {
		return dst, false
	}
	many := func(set *byteSet) { dst = append(dst, Place{*set, true}) }
	switch kind := KindOf(packed); kind {
	case Text:
		set := bytesOf(text) // and of symbols, and separators
		many(&set)
	case Integer, Hex, HexUpper, HexBytes:
		many(&alphabets[kind])
	case Decimal:
		many(&alphabets[Integer])
		many(&pointSet)
		many(&digitSet)
	case IPv4:
		for i := range 4 {
			if i > 0 {
				dst = append(dst, Place{pointSet, false})
			}
			many(&digitSet)
		}
	case UUID:
		dst = uuidShape.places(dst)
	case Time:
		if len(packed) < 3 || !formOfBytes(packed[1], packed[2]).valid() {
			return dst, false
		}
		var room [maxTime]*byteSet
		dst = formOfBytes(packed[1], packed[2]).shape(room[:0]).places(dst)
	default:
		return dst, false
	}
	return dst, true
}

var pointSet = setOf(".")

func (s shape) places(dst []Place) []Place {
	for _, set := range s {
		dst = append(dst, Place{*set, false})
	}
	return dst
}

func bytesOf(text []byte) (set byteSet) {
	var has [256]uint8
	for _, b := range text {
		has[b] = 1
	}
	for b, one := range has {
		set[b>>6] |= uint64(one) << (b & 63)
	}
	return set
}

// ValueBytes returns the bytes that may be in values of an open column.
func (c *Column) ValueBytes() (set [4]uint64) {
	switch {
	case c.count == 0:
		return set
	case c.misses == nil && c.kind == Text:
		return bytesOf(c.text)
	}
	return c.limits().bytes
}

// FitBytes returns the bytes that may be in values of a kind of numbers that are no misses. ok
// is false for other kinds.
func FitBytes(packed []byte) (set [4]uint64, ok bool) {
	switch kind := KindOf(packed); kind {
	case Integer, Hex, HexUpper, Decimal, IPv4, HexBytes:
		return alphabets[kind], true
	}
	return set, false
}

// ConstantOf returns the value of a column of one value. packed and text are as of Open.
func ConstantOf(packed, text []byte) (value []byte, ok bool) {
	if PeekText(packed, text, Test{Op: Equal, Text: text}) != All {
		return nil, false
	}
	return text, true
}

// MatchFunc sets the bits in dst of the values for which f returns true, as Match does. With
// alike, the result of f is the same for texts that differ in digits alone.
func (c *Column) MatchFunc(dst []uint64, alike bool, f func(value []byte) bool) {
	if c.count == 0 {
		return
	}
	n := c.count
	if c.misses != nil {
		n -= c.misses.count
		hits, missed := c.bits(0, n), c.bits(1, c.misses.count)
		c.matchFunc(hits, n, alike, f)
		c.misses.MatchFunc(missed, alike, f)
		c.mergeMisses(dst, hits, missed)
		return
	}
	c.matchFunc(dst, n, alike, f)
}

func (c *Column) matchFunc(dst []uint64, n int, alike bool, f func(value []byte) bool) {
	switch c.kind {
	case Constant:
		if f(c.text) {
			setAll(dst, n)
		}
		return
	case Dictionary:
		d := c.subs[0]
		hits := c.bits(0, d.count)
		d.MatchFunc(hits, alike, f)
		c.matchIndexed(dst, hits)
		return
	}
	var known [maxLengths]uint8 // 0: not known
	v := c.room
	hit := false
	for i := range n {
		if c.kind == Text {
			hit = f(c.text[c.starts[i] : c.starts[i+1]-c.ends])
		} else if !c.again(i) {
			k := 0
			if alike {
				k = c.lengths(i)
			}
			if hit = known[k] == holds; known[k] == 0 {
				v = c.appendFit(v[:0], i)
				hit = f(v)
				if k > 0 {
					known[k] = holdsNot
				}
				if k > 0 && hit {
					known[k] = holds
				}
			}
		}
		if hit {
			dst[i/64] |= 1 << (i % 64)
		}
	}
	c.room = v
}

// maxLengths bounds the numbers of lengths, and what is known of values by these.
const (
	maxLengths = 128

	holdsNot = 1
	holds    = 2
)

// lengths returns a number that is the same for values that differ in digits alone, from 1 to
// maxLengths-1; 0 if it knows none.
func (c *Column) lengths(i int) int {
	switch c.kind {
	case Integer:
		v := c.nums[i]
		if v < 0 {
			return maxLengths/2 + max(digitsIn(uint64(-v)), c.param)
		}
		return max(digitsIn(uint64(v)), c.param)
	case IPv4:
		v, k := uint32(c.nums[i]), 0
		for shift := 0; shift < 32; shift += 8 {
			k = 3*k + int(byteTexts[v>>shift&255][3]) - 1
		}
		return k + 1
	}
	return 0
}
