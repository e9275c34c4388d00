package column

import (
	"encoding/binary"
	"math/bits"
)

// A numberRange is the least and the largest of some integers, or less and more than these.
type numberRange struct{ low, high int64 }

// rangeOf returns the range of a sequence of integers, of which p has the first bytes; ok is
// false if it is not known.
func rangeOf(p []byte) (r numberRange, ok bool) {
	if len(p) > 0 && p[0] == formDistinct {
		_, n := binary.Uvarint(p[1:])
		if n <= 0 || len(p) == 1+n || p[1+n] == formDistinct {
			return r, false
		}
		p = p[1+n:]
	}
	if len(p) == 0 {
		return r, false
	}
	head := p[0]
	base, n := binary.Varint(p[1:])
	if n <= 0 {
		return r, false
	}
	p = p[1+n:]
	unit := uint64(1)
	if head&flagUnit != 0 {
		if unit, n = binary.Uvarint(p); n <= 0 {
			return r, false
		}
		p = p[n:]
	}
	top := uint64(0)
	switch head & formMask {
	case formConstant:
	case formBits:
		if len(p) == 0 || p[0] > 64 {
			return r, false
		}
		top = uint64(1)<<p[0] - 1
	default:
		if top, n = binary.Uvarint(p); n <= 0 {
			return r, false
		}
	}
	over, size := bits.Mul64(top, unit)
	r = numberRange{base, int64(uint64(base) + size)}
	return r, over == 0 && r.low <= r.high
}

// magnitudes returns the range of the integers without their signs.
func (r numberRange) magnitudes() (low, high uint64) {
	switch {
	case r.low >= 0:
		return uint64(r.low), uint64(r.high)
	case r.high < 0:
		return -uint64(r.high), -uint64(r.low)
	}
	return 0, max(-uint64(r.low), uint64(r.high))
}

// mayNumbers reports whether numbers of a column may pass a test, by their range: those that
// are no misses. p is where their sequence begins.
func mayNumbers(kind Kind, param int, p []byte, t Test) bool {
	radix := uint64(10)
	switch kind {
	case Integer:
	case Hex, HexUpper:
		radix = 16
	case Decimal:
		param++ // a digit before the point
	default:
		return true
	}
	r, ok := rangeOf(p)
	if !ok || len(t.Text) == 0 {
		return true
	}
	d := digits{radix: radix, width: param}
	if !d.set(t.Text) {
		return kind != Integer || t.Text[0] != '-' || r.low < 0
	}
	if radix == 16 && r.low < 0 { // those of 64 bits
		return true
	}
	low, high := r.magnitudes()
	switch {
	case high > maxRange:
		return true
	case kind == Decimal, t.Op == Contains:
		return d.within(low, high, maxDigits)
	case t.Op == HasSuffix:
		return d.within(low, high, 1)
	}
	return d.begin(low, high)
}

// maxRange is the largest number that digits are looked for in: no sum of a few exceeds 64 bits.
const maxRange = 1 << 62

// digits are what is looked for in the numbers of a range, which are written with at least as
// many digits as the width.
type digits struct {
	radix, number, power uint64 // power is one more than the largest number of so many digits
	count, width         int
	zero                 bool // the first one is 0
}

// set sets the digits. It returns false if p has something else, or too many.
func (d *digits) set(p []byte) bool {
	d.count, d.zero, d.number, d.power = len(p), p[0] == '0', 0, 1
	for _, b := range p {
		x := uint64(b - '0')
		if x > 9 {
			if x = uint64(b|0x20-'a') + 10; d.radix == 10 || x < 10 || x > 15 {
				return false
			}
		}
		if d.power > maxRange/d.radix {
			return false
		}
		d.number, d.power = d.number*d.radix+x, d.power*d.radix
	}
	return true
}

// within reports whether a number from low to high, which is at most maxRange, has the digits
// in it, before some of the last ones: fewer than places.
func (d *digits) within(low, high uint64, places int) bool {
	if d.zero && d.count == 1 && low == 0 {
		return true
	}
	unit := uint64(1)
	for place := range places {
		padded := place+d.count <= d.width
		if d.number > high/unit {
			return false
		}
		begin := d.number * unit // of the numbers that have the digits at this place
		over, period := bits.Mul64(d.power, unit)
		switch {
		case over == 0 && period <= high:
			from := low
			if d.zero && !padded { // there are digits before
				from = max(from, period)
			}
			begin += from - from%period
			if begin+unit <= from {
				begin += period
			}
			if max(begin, from) <= high {
				return true
			}
		case d.zero && !padded:
			return false
		case begin+unit > low:
			return true
		}
		if unit > high/d.radix && place+d.count >= d.width {
			return false
		}
		unit *= d.radix
	}
	return false
}

// begin reports whether a number from low to high may begin with the digits.
func (d *digits) begin(low, high uint64) bool {
	if d.width > 1 {
		return true
	}
	if d.zero {
		return d.count == 1 && low == 0
	}
	for unit := uint64(1); d.number <= high/unit; unit *= d.radix {
		if (d.number+1)*unit > low {
			return true
		}
		if unit > high/d.radix {
			break
		}
	}
	return false
}
