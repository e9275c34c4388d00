package column

import (
	"encoding/binary"
	"math/bits"
)

// Numbers are made text eight digits at once, in one register (SWAR); what is written
// behind the last digit is overwritten by the next value.

// eightDigits returns the decimal digits of u, below 10^8, with zeros before them, the
// first one lowest.
func eightDigits(u uint64) uint64 { return eightValues(u) | zeros }

const zeros = 0x3030303030303030

// eightValues is eightDigits of values of digits, which are not text yet.
func eightValues(u uint64) uint64 {
	x := u/10_000 | u%10_000<<32
	q := x * 10_486 >> 20 & 0x7f_0000_007f // x/100 of each half
	x = q | (x-100*q)<<16
	q = x * 103 >> 10 & 0xf_000f_000f_000f // x/10 of each quarter
	return q | (x-10*q)<<8
}

const (
	hexLower = 'a' - '0' - 10 // what is added to a digit above 9, beside '0'
	hexUpper = 'A' - '0' - 10
)

// eightHex is eightDigits of hexadecimal digits.
func eightHex(u uint32, letters uint64) uint64 {
	const each = 0x0101010101010101
	x := uint64(u)
	x = (x<<16 | x) & 0x0000ffff0000ffff
	x = (x<<8 | x) & 0x00ff00ff00ff00ff
	x = (x<<4 | x) & 0x0f0f0f0f0f0f0f0f
	x += '0'*each + (x+6*each)>>4&each*letters
	return bits.ReverseBytes64(x)
}

const (
	eight   = 8
	tenTo8  = 100_000_000
	tenTo16 = tenTo8 * tenTo8
)

// putInteger writes the digits of u, at least width, to text[at:], and returns where they
// end.
func putInteger(text []byte, at int, u uint64, width int) int {
	n := max(digitsIn(u), width)
	switch {
	case n <= eight:
		binary.LittleEndian.PutUint64(text[at:], eightDigits(u)>>(8*uint(eight-n)&63))
	case n <= 2*eight:
		binary.LittleEndian.PutUint64(text[at:], eightDigits(u/tenTo8)>>(8*uint(2*eight-n)&63))
		binary.LittleEndian.PutUint64(text[at+n-eight:], eightDigits(u%tenTo8))
	default:
		putDigits(text[at:at+n-2*eight], u/tenTo16)
		u %= tenTo16
		binary.LittleEndian.PutUint64(text[at+n-2*eight:], eightDigits(u/tenTo8))
		binary.LittleEndian.PutUint64(text[at+n-eight:], eightDigits(u%tenTo8))
	}
	return at + n
}

func (c *Column) writeIntegers(nums []int64) {
	text, at := c.reserve(len(nums) * (maxDigits + 1))
	spans := c.moreSpans(len(nums))
	width := c.param
	most := eight - min(max(width, 1), eight) // zeros that are left out, at most
	for i, v := range nums {
		from, u := at, uint64(v)
		if u < tenTo8 && width <= eight {
			x := eightValues(u)
			skip := min(bits.TrailingZeros64(x|1<<63)/8, most)
			binary.LittleEndian.PutUint64(text[at:], (x|zeros)>>(8*uint(skip)&63))
			at += eight - skip
		} else {
			if v < 0 {
				text[at] = '-'
				at++
				u = -u
			}
			at = putInteger(text, at, u, width)
		}
		spans[i] = Span{uint32(from), uint32(at)}
	}
	c.chunk.text = text[:at]
}

// moreSpans makes the chunk have n spans more, which it returns. Draw has made space.
func (c *Column) moreSpans(n int) []Span {
	first := len(c.chunk.spans)
	c.chunk.spans = c.chunk.spans[:first+n]
	return c.chunk.spans[first:]
}

func (c *Column) writeHex(nums []int64, letters uint64) {
	text, at := c.reserve(len(nums) * 2 * eight)
	spans := c.chunk.spans
	for _, v := range nums {
		from, u := at, uint64(v)
		n := max((bits.Len64(u)+3)/4, c.param, 1)
		if n > eight {
			binary.LittleEndian.PutUint64(text[at:], eightHex(uint32(u>>32), letters)>>(8*uint(2*eight-n)&63))
			at += n - eight
			n = eight
		}
		binary.LittleEndian.PutUint64(text[at:], eightHex(uint32(u), letters)>>(8*uint(eight-n)&63))
		at += n
		spans = append(spans, Span{uint32(from), uint32(at)})
	}
	c.chunk.text, c.chunk.spans = text[:at], spans
}

func (c *Column) writeDecimals(nums, scales []int64) {
	text, at := c.reserve(len(nums) * (maxDigits + 3))
	spans := c.chunk.spans
	for i, v := range nums {
		from, left := at, scales[i]
		scale := c.param - int(left)
		if left > 0 {
			v /= int64(powers[left])
		}
		u := uint64(v)
		if v < 0 {
			text[at] = '-'
			at++
			u = -u
		}
		if scale == 0 {
			at = putInteger(text, at, u, 1)
		} else {
			unit := powers[scale]
			whole := u / unit
			at = putInteger(text, at, whole, 1)
			text[at] = '.'
			at = putInteger(text, at+1, u-whole*unit, scale)
		}
		spans = append(spans, Span{uint32(from), uint32(at)})
	}
	c.chunk.text, c.chunk.spans = text[:at], spans
}

func (c *Column) writeIPv4(nums []int64) {
	text, at := c.reserve(len(nums) * eight * 2)
	spans := c.moreSpans(len(nums))
	for i, v := range nums {
		from := at
		for shift := 24; shift >= 0; shift -= 8 {
			t := &pointTexts[v>>shift&255]
			binary.LittleEndian.PutUint32(text[at:], t.text)
			at += int(t.size)
		}
		at-- // the last point
		spans[i] = Span{uint32(from), uint32(at)}
	}
	c.chunk.text = text[:at]
}

// pointTexts are the decimal digits of bytes, and a point.
var pointTexts = func() (t [256]struct{ text, size uint32 }) {
	for i := range t {
		var b [4]byte
		t[i].size = uint32(copy(b[:], append(appendInteger(nil, int64(i), 1), '.')))
		t[i].text = binary.LittleEndian.Uint32(b[:])
	}
	return t
}()

func (c *Column) writeUUIDs(i, n int) {
	text, at := c.reserve(n * uuidLength)
	for ; n > 0; n-- {
		b := (*[16]byte)(c.text[i*16:])
		t := (*[uuidLength]byte)(text[at:])
		t[8], t[13], t[18], t[23] = '-', '-', '-', '-'
		for k, place := range uuidBytes {
			binary.LittleEndian.PutUint16(t[place:], hexPairs[b[k]])
		}
		c.chunk.spans = append(c.chunk.spans, Span{uint32(at), uint32(at + uuidLength)})
		at += uuidLength
		i++
	}
	c.chunk.text = text[:at]
}

func (c *Column) writeHexBytes(i, n int) {
	size := 2 * c.param
	text, at := c.reserve(n * size)
	for ; n > 0; n-- {
		for k, b := range c.text[i*c.param:][:c.param] {
			binary.LittleEndian.PutUint16(text[at+2*k:], hexPairs[b])
		}
		c.chunk.spans = append(c.chunk.spans, Span{uint32(at), uint32(at + size)})
		at += size
		i++
	}
	c.chunk.text = text[:at]
}

// writeTimes writes the text of a second once: the next times of the same one are copies
// with another fraction.
func (c *Column) writeTimes(nums []int64) {
	f := c.form
	size := f.length()
	text, at := c.reserve(len(nums) * size)
	spans := c.moreSpans(len(nums))
	l := &parsedLayouts[f.layout]
	fraction := l.fraction + f.before()
	last := fraction+int(f.digits)+int(f.zulu) == size // no field follows
	per := int64(powers[f.digits])
	t := &c.stamp
	begin := t.second * per
	for i, units := range nums {
		from := at
		at += size
		spans[i] = Span{uint32(from), uint32(at)}
		part := units - begin
		if uint64(part) >= uint64(per) {
			second := units / per
			if l.fraction == 0 {
				second *= daySeconds // these are days
			}
			t.set(f, l, second)
			t.second = units / per
			begin = t.second * per
			part = units - begin
		}
		to := (*[stampSize]byte)(text[from:])
		*(*[short]byte)(to[:short]) = *(*[short]byte)(t.text[:short])
		*(*[short]byte)(to[short : 2*short]) = *(*[short]byte)(t.text[short : 2*short])
		if size > 2*short {
			*(*[short]byte)(to[2*short:]) = *(*[short]byte)(t.text[2*short:])
		}
		if f.digits == 0 {
			continue
		}
		if d := uint(f.digits); last && d <= eight {
			binary.LittleEndian.PutUint64(text[from+fraction:], eightDigits(uint64(part))>>(8*(eight-d)&63))
			if f.zulu > 0 {
				text[at-1] = 'Z'
			}
		} else {
			putDigits(text[from+fraction:from+fraction+int(d)], uint64(part))
		}
	}
	c.chunk.text = text[:at]
}
