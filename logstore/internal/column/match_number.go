package column

import (
	"bytes"
	"math/bits"
)

// A digitFinder looks for digits in integers: bit j of a state is set if the last digits that
// were met are the first j+1 of what is looked for, from its last digit on; bits behind these
// stay set. (Shift-And: Baeza-Yates and Gonnet, A New Approach to Text Searching, 1992.)
type digitFinder struct {
	ones  [10]uint32   // by digit
	pairs [100]uint32  // by two digits, of which the lower one is met first
	fours *[1e4]uint32 // by four; nil until they are made
	met   int          // integers so far; fours are made after some
	text  [maxDigits]byte
	n     int  // digits of text
	zero  bool // the first one is 0
}

// fewMet is how many integers are looked at by pairs of digits: fours take longer to make.
const fewMet = 1 << 12

// set sets the digits that are looked for, fewer than maxDigits.
func (f *digitFinder) set(digits []byte) {
	f.n, f.met, f.zero = copy(f.text[:], digits), 0, digits[0] == '0'
	rest := ^uint32(0) << f.n
	for i := range f.ones {
		f.ones[i] = rest
	}
	for i, d := range digits {
		f.ones[d-'0'] |= 1 << (f.n - 1 - i)
	}
	for i := range f.pairs {
		f.pairs[i] = (f.ones[i%10]<<1 | 1) & f.ones[i/10]
	}
}

// use tells that so many integers are looked at next.
func (f *digitFinder) use(n int) {
	before := f.met
	if f.met += n; before > fewMet || f.met <= fewMet {
		return
	}
	if f.fours == nil {
		f.fours = new([1e4]uint32)
	}
	for high, then := range f.pairs {
		for low, state := range f.pairs {
			f.fours[100*high+low] = (state<<2 | 3) & then
		}
	}
}

// in reports whether u, written with at least as many digits as the width, has the digits.
func (f *digitFinder) in(u uint64, width int) bool {
	if f.met > fewMet {
		if found := f.inFours(u, width); !found || !f.zero {
			return found
		}
	}
	n := max(digitsIn(u), width)
	state, any := uint32(0), uint32(0)
	for ; n >= 2; n -= 2 {
		q := u / 100
		state = (state<<2 | 3) & f.pairs[u-100*q]
		any |= state
		u = q
	}
	if n > 0 {
		any |= (state<<1 | 1) & f.ones[u%10]
	}
	return any>>(f.n-1) != 0
}

// inFours is in for u with zeros before: up to three more than the width asks for, which matter
// only if what is looked for begins with 0.
func (f *digitFinder) inFours(u uint64, width int) bool {
	state, any := uint32(0), uint32(0)
	for {
		q := u / 1e4
		state = (state<<4 | 15) & f.fours[u-1e4*q]
		any |= state
		u = q
		if width -= 4; u == 0 && width <= 0 {
			return any>>(f.n-1) != 0
		}
	}
}

// matchDigits sets the bits of integers of a width that have the digits p in them.
func (c *Column) matchDigits(dst []uint64, p []byte) {
	f := c.memory.finder(p, len(c.nums))
	var last int64
	hit := false
	for i, v := range c.nums {
		if i == 0 || v != last {
			last, hit = v, f.in(uint64(max(v, -v)), c.param)
		}
		if hit {
			dst[i/64] |= 1 << (i % 64)
		}
	}
}

// matchDecimals sets the bits of decimals that have digits in them: those of the number have
// them, and they are on one side of the point.
func (c *Column) matchDecimals(dst []uint64, t Test) {
	f := c.memory.finder(t.Text, len(c.nums))
	v := c.room
	hit := false
	for i, x := range c.nums {
		if !c.again(i) {
			if hit = f.in(uint64(max(x, -x)), c.param+1); hit {
				v = c.appendFit(v[:0], i)
				hit = t.Holds(v)
			}
		}
		if hit {
			dst[i/64] |= 1 << (i % 64)
		}
	}
	c.room = v
}

// An addressTest is a test of the bytes of addresses: those of consecutive places, the first
// of which is from first to last, must be in these sets.
type addressTest struct {
	text        []byte
	op          Op
	first, last int
	parts       int // 0: no address passes
	sets        [4]byteSet
}

// set sets the test.
func (a *addressTest) set(t Test) {
	a.text, a.op, a.parts = append(a.text[:0], t.Text...), t.Op, 0
	n := bytes.Count(t.Text, []byte{'.'}) + 1
	if n > len(a.sets) {
		return
	}
	a.first, a.last = 0, len(a.sets)-n
	switch t.Op {
	case HasPrefix:
		a.last = 0
	case HasSuffix:
		a.first = a.last
	}
	rest := t.Text
	for i := range n {
		var part []byte
		part, rest, _ = bytes.Cut(rest, []byte{'.'})
		a.sets[i] = byteSet{}
		begins := i > 0 || t.Op == HasPrefix // the part is at the beginning of its byte
		ends := i < n-1 || t.Op == HasSuffix
		for b := range byteTexts {
			text := byteTexts[b][:byteTexts[b][3]]
			if begins && ends && bytes.Equal(text, part) || begins && !ends && bytes.HasPrefix(text, part) ||
				!begins && ends && bytes.HasSuffix(text, part) || !begins && !ends && bytes.Contains(text, part) {
				a.sets[i][b>>6] |= 1 << (b & 63)
			}
		}
	}
	a.parts = n
}

// passes reports whether an address passes the test.
func (a *addressTest) passes(v int64) bool {
	for at := a.first; at <= a.last; at++ {
		i := 0
		for i < a.parts && a.sets[i].has(byte(v>>(24-8*(at+i)))) {
			i++
		}
		if i == a.parts && i > 0 {
			return true
		}
	}
	return false
}

// matchAddresses sets the bits of the addresses that pass a test.
func (c *Column) matchAddresses(dst []uint64, t Test) {
	a := c.address
	if a == nil {
		a = new(addressTest)
		c.address = a
	}
	if a.op != t.Op || len(a.text) == 0 || !bytes.Equal(a.text, t.Text) {
		a.set(t)
	}
	hit := false
	for i, v := range c.nums {
		if i == 0 || v != c.nums[i-1] {
			hit = a.passes(v)
		}
		if hit {
			dst[i/64] |= 1 << (i % 64)
		}
	}
}

// matchHex sets the bits of hexadecimal numbers that have digits in them. It returns false, and
// sets none, if p has other bytes.
func (c *Column) matchHex(dst []uint64, p []byte) bool {
	want, mask := uint64(0), uint64(0)
	for _, b := range p {
		x, ok := hexDigit(b, c.kind == HexUpper)
		if !ok {
			return false
		}
		want, mask = want<<4|x, mask<<4|15
	}
	var last int64
	hit := false
	for i, v := range c.nums {
		if i == 0 || v != last {
			last = v
			places := max((bits.Len64(uint64(v))+3)/4, c.param, 1) - len(p)
			hit = false
			for u := uint64(v); places >= 0 && !hit; places-- {
				hit = u&mask == want
				u >>= 4
			}
		}
		if hit {
			dst[i/64] |= 1 << (i % 64)
		}
	}
	return true
}

// hexDigit returns the number of a digit.
func hexDigit(b byte, upper bool) (uint64, bool) {
	switch {
	case b >= '0' && b <= '9':
		return uint64(b - '0'), true
	case b >= 'a' && b <= 'f' && !upper:
		return uint64(b-'a') + 10, true
	case b >= 'A' && b <= 'F' && upper:
		return uint64(b-'A') + 10, true
	}
	return 0, false
}

// matchRaw sets the bits of values of raw bytes that have three hexadecimal digits or more in
// them: the first two or those behind the first are a byte then. It returns false, and sets none,
// if p has other bytes, or fewer.
func (c *Column) matchRaw(dst []uint64, t Test) bool {
	var first [3]uint64
	for i, b := range t.Text {
		x, ok := hexDigit(b, false)
		if !ok {
			return false
		}
		if i < len(first) {
			first[i] = x
		}
	}
	if len(t.Text) < len(first) {
		return false
	}
	a, b := byte(first[0]<<4|first[1]), byte(first[1]<<4|first[2])
	for i := range len(c.text) / c.param {
		v := c.text[i*c.param:][:c.param]
		if bytes.IndexByte(v, a) < 0 && bytes.IndexByte(v, b) < 0 {
			continue
		}
		if c.room = c.appendFit(c.room[:0], i); t.Holds(c.room) {
			dst[i/64] |= 1 << (i % 64)
		}
	}
	return true
}

// matchParts sets the bits of values of a pattern that have a text within one of the parts. It
// returns false, and sets none, if the text may extend to a literal, or to another part.
func (c *Column) matchParts(dst []uint64, t Test) bool {
	if len(t.Text) == 0 {
		return false
	}
	var set byteSet
	for _, b := range t.Text {
		set[b>>6] |= 1 << (b & 63)
	}
	for i, lit := range c.literals {
		if len(lit) == 0 && i > 0 && i < c.parts {
			return false
		}
		for _, b := range lit {
			if set.has(b) {
				return false
			}
		}
	}
	for _, part := range c.subs[:c.parts] {
		part.Match(dst, t)
	}
	return true
}
