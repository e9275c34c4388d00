package block

import (
	"encoding/binary"
	"math/bits"

	"github.com/stele-go/stele/logstore/internal/column"
)

// clearBits is how many bits of the steps, on average, go through the
// compressor, sign included. The lower bits are noise: all patterns are about
// equally likely. (Random steps of 6 ms, in nanoseconds, have 24 bits of
// entropy. They took 3.9 bytes as varints and 3.5 compressed; they take 3.1
// with 3 or 4 bits, 3.2 with 6.)
const clearBits = 4

// pieceRows is how many rows lie between two marks of times: a search decodes so many for each
// time. Of nanoseconds by chance, marks take 0.04 bytes a row.
const (
	pieceBits = 7
	pieceRows = 1 << pieceBits
)

// A timesEncoder encodes times, and keeps its memory.
type timesEncoder struct {
	steps  []int64
	order  byte
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
		length1 += bits.Len64(column.Zigzag(d))
		length2 += bits.Len64(column.Zigzag(d - last))
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
	e.order = order
}

// mark adds the marks to the time bits. They have sums of steps, since differences of times may
// have wrapped around.
func (e *timesEncoder) mark() {
	var sum, last int64
	for i, d := range e.steps {
		if e.order == 2 {
			d += last
		}
		last = d
		if sum += d; (i+1)%pieceRows != 0 {
			continue
		}
		e.bits = binary.AppendVarint(e.bits, sum)
		if e.order == 2 {
			e.bits = binary.AppendVarint(e.bits, last-sum>>pieceBits)
		}
		sum = 0
	}
}

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
			unit = column.GCD(unit, u%unit)
		}
		if unit == 1 {
			break
		}
	}
	return max(unit, 1)
}
