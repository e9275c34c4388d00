package block

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// clearBits is how many bits of the steps, on average, go through the
// compressor, sign included. The lower bits are noise: all patterns are about
// equally likely. (Random steps of 6 ms, in nanoseconds, have 24 bits of
// entropy. They took 3.9 bytes as varints and 3.5 compressed; they take 3.1
// with 3 or 4 bits, 3.2 with 6.)
const clearBits = 4

// A timesEncoder encodes times, and keeps its memory.
type timesEncoder struct {
	steps  []int64
	varint []byte // section times
	bits   []byte // section time bits
}

// encode makes the two sections of times, which are at least one.
func (e *timesEncoder) encode(times []int64) {
	unit := unitOf(times)
	e.steps = e.steps[:0]
	var length1, length2 int // of all differences, in bits
	var last int64
	for i, t := range times[1:] {
		d := t - times[i]
		if unit > 1 {
			d /= int64(unit)
		}
		length1 += bits.Len64(zigzag(d))
		length2 += bits.Len64(zigzag(d - last))
		last = d
		e.steps = append(e.steps, d)
	}
	order, length := byte(1), length1
	if length2 < length1 {
		order, length = 2, length2
		last = 0
		for i, d := range e.steps {
			e.steps[i], last = d-last, d
		}
	}
	width := min(max(length/max(len(e.steps), 1)-clearBits, 0), maxTimeBits)

	e.varint = binary.LittleEndian.AppendUint64(e.varint[:0], uint64(times[0]))
	e.varint = binary.AppendUvarint(e.varint, unit)
	e.varint = append(e.varint, order, byte(width))
	e.bits = e.bits[:0]
	var low uint64 // the last n bits, which are not yet in e.bits
	n := 0
	for _, d := range e.steps {
		e.varint = binary.AppendVarint(e.varint, d>>width)
		if width == 0 {
			continue
		}
		low |= uint64(d) & (1<<width - 1) << n
		for n += width; n >= 8; n -= 8 {
			e.bits = append(e.bits, byte(low))
			low >>= 8
		}
	}
	if n > 0 {
		e.bits = append(e.bits, byte(low))
	}
}

func zigzag(v int64) uint64 { return uint64(v<<1 ^ v>>63) }

// timeBits returns the size of a section of time bits.
func timeBits(rows, width int) int { return ((rows-1)*width + 7) / 8 }

// unitOf returns the greatest common divisor of the differences of neighbours,
// 1 if all times are equal. It may be 1<<63: as an int64 that is negative, and
// dividing and then multiplying by it still gives the same difference.
func unitOf(times []int64) uint64 {
	var unit uint64
	for i, t := range times[1:] {
		d := t - times[i]
		if d < 0 {
			d = -d
		}
		if u := uint64(d); unit == 0 {
			unit = u
		} else if u%unit != 0 {
			unit = gcd(unit, u%unit)
		}
		if unit == 1 {
			break
		}
	}
	return max(unit, 1)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// noBits stands for time bits where there are none.
var noBits [8]byte

// parseTimes appends to dst the times of n rows, n at least 1, which the two
// sections have. The caller has verified that they are not too long for n rows;
// dst grows only once they are not too short.
func parseTimes(dst []int64, p, low []byte, n int) ([]int64, error) {
	if len(p) < 8 {
		return dst, damaged("%d bytes of times; want at least 8", len(p))
	}
	t := int64(binary.LittleEndian.Uint64(p))
	p = p[8:]
	u, size := binary.Uvarint(p)
	if size <= 0 || u == 0 || u > 1<<63 || len(p) < size+2 {
		return dst, damaged("no unit of times")
	}
	unit, order, width := int64(u), p[size], int(p[size+1])
	p = p[size+2:]
	if order != 1 && order != 2 || width > maxTimeBits {
		return dst, damaged("times of order %d with %d bits", order, width)
	}
	if len(p) < n-1 || len(low) != timeBits(n, width) {
		return dst, damaged("%d and %d bytes of times for %d rows", len(p), len(low), n)
	}
	from := len(dst)
	dst = slices.Grow(dst, n)[:from+n]
	out := dst[from:]
	out[0] = t
	keep := -int64(order - 1) // of the step before: none, or all
	mask := uint64(1)<<width - 1
	var step int64
	i, w := 0, uint(width)&63
	// Eight at once where each has one byte, and its bits lie within eight bytes.
	const each, long = 8, 0x8080808080808080
	whole := min(n-1, (len(low)-8)*8/max(width, 1))
	if width == 0 {
		low, whole = noBits[:], n-1
	}
	for i+each <= whole && len(p) >= each {
		packed := binary.LittleEndian.Uint64(p)
		if packed&long != 0 {
			v, size := binary.Uvarint(p)
			if size <= 0 {
				return dst[:from], damaged("times end before all rows")
			}
			p = p[size:]
			bits := binary.LittleEndian.Uint64(low[uint(i)*w>>3:]) >> (uint(i) * w & 7) & mask
			step = step&keep + ((int64(v>>1)^-int64(v&1))<<w | int64(bits))
			t += step * unit
			i++
			out[i] = t
			continue
		}
		p = p[each:]
		eight := (*[each]int64)(out[i+1:])
		bit := uint(i) * w
		for k := range eight {
			bits := binary.LittleEndian.Uint64(low[bit>>3:]) >> (bit & 7) & mask
			bit += w
			step = step&keep + ((int64(packed>>1&0x3f)^-int64(packed&1))<<w | int64(bits))
			packed >>= 8
			t += step * unit
			eight[k] = t
		}
		i += each
	}
	for ; i < len(out)-1; i++ {
		v, size := binary.Uvarint(p)
		if size <= 0 {
			return dst[:from], damaged("times end before all rows")
		}
		p = p[size:]
		d := int64(v>>1) ^ -int64(v&1)
		d = d<<width | int64(bitsAt(low, i*width)&mask)
		step = step&keep + d
		t += step * unit
		out[i+1] = t
	}
	if len(p) != 0 {
		return dst[:from], damaged("%d bytes after the times", len(p))
	}
	return dst, nil
}

// bitsAt returns the bits of p from bit on: at least 57, or all there are.
func bitsAt(p []byte, bit int) uint64 {
	p = p[bit/8:]
	if len(p) >= 8 {
		return binary.LittleEndian.Uint64(p) >> (bit % 8)
	}
	var last [8]byte
	copy(last[:], p)
	return binary.LittleEndian.Uint64(last[:]) >> (bit % 8)
}
