package block

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"

	"github.com/stele-go/stele/logstore/internal/column"
)

// A timeReader decodes the times of a block: all, or only the pieces between marks that are
// asked for. It keeps its memory.
type timeReader struct {
	varints, low []byte
	rows, piece  int // rows of the block, and of a piece
	unit, keep   int64
	width        uint
	marks        []timeMark // of the first row of each piece
	decoded      []bool     // of each piece
	left         int        // pieces that are not decoded
	times        []int64    // of all rows; those of other pieces are not set
	first, last  int64      // of all times, the least and the greatest, if hasSpan is set
	hasSpan      bool
}

// A timeMark is the state of decoding at a row.
type timeMark struct {
	time, step int64
	at         int // the next varint
}

// open readies the reader for n rows, at least 1. The caller has verified that the sections
// are not too long for them; memory grows only once they are not too short. low has the marks
// behind the bits, if there are any.
func (r *timeReader) open(p, low []byte, n int, marked bool) error {
	r.rows = 0
	if len(p) < 8 {
		return damaged("%d bytes of times; want at least 8", len(p))
	}
	first := int64(binary.LittleEndian.Uint64(p))
	u, size := binary.Uvarint(p[8:])
	if size <= 0 || u == 0 || u > 1<<63 || len(p) < 8+size+2 {
		return damaged("no unit of times")
	}
	order, width := p[8+size], uint(p[8+size+1])
	p = p[8+size+2:]
	if order != 1 && order != 2 || width > maxTimeBits {
		return damaged("times of order %d with %d bits", order, width)
	}
	bits := timeBits(n, int(width))
	if len(p) < n-1 || len(low) < bits || !marked && len(low) > bits {
		return damaged("%d and %d bytes of times for %d rows", len(p), len(low), n)
	}
	r.varints, r.low, r.piece = p, low, n
	r.unit, r.keep, r.width = int64(u), -int64(order-1), width
	r.marks = append(r.marks[:0], timeMark{time: first})
	if marked {
		r.piece = pieceRows
		if err := r.readMarks(low[bits:], n); err != nil {
			return err
		}
	}
	r.left, r.hasSpan = len(r.marks), false
	r.decoded = append(r.decoded[:0], make([]bool, r.left)...)
	r.times = slices.Grow(r.times[:0], n)[:n]
	r.rows = n
	return nil
}

// readMarks decodes the marks of n rows, and finds where the varints of the pieces begin.
func (r *timeReader) readMarks(p []byte, n int) error {
	m := r.marks[0]
	for row := pieceRows; row < n; row += pieceRows {
		sum, size := binary.Varint(p)
		if size <= 0 {
			return damaged("marks of times end before all rows")
		}
		p = p[size:]
		m.time += sum * r.unit
		if r.keep != 0 {
			v, size := binary.Varint(p)
			if size <= 0 {
				return damaged("marks of times end before all rows")
			}
			p = p[size:]
			m.step = v + sum>>pieceBits
		}
		if m.at = skipVarints(r.varints, m.at, pieceRows); m.at < 0 {
			return damaged("times end before all rows")
		}
		r.marks = append(r.marks, m)
	}
	if len(p) != 0 {
		return damaged("%d bytes after the marks of times", len(p))
	}
	return nil
}

// longBytes are the bits of bytes that varints go on behind.
const longBytes = 0x8080808080808080

// skipVarints returns where the n-th varint of p from at on ends, -1 if there are fewer.
func skipVarints(p []byte, at, n int) int {
	for n >= 8 && at+8 <= len(p) {
		n -= 8 - bits.OnesCount64(binary.LittleEndian.Uint64(p[at:])&longBytes)
		at += 8
	}
	for ; n > 0; at++ {
		if at >= len(p) {
			return -1
		}
		if p[at] < 0x80 {
			n--
		}
	}
	return at
}

// decode decodes a piece, and verifies that it ends where the next one begins.
func (r *timeReader) decode(k int) error {
	if r.decoded[k] {
		return nil
	}
	m, from := r.marks[k], k*r.piece
	end := min(from+r.piece, r.rows-1) // of the first row behind it, or the last row
	r.times[from] = m.time
	if err := r.steps(r.times[from+1:end+1], from, &m); err != nil {
		return err
	}
	if k+1 < len(r.marks) {
		if m.step &= r.keep; m != r.marks[k+1] {
			return damaged("the times of rows %d to %d do not lead to the mark behind them", from, end)
		}
	} else if m.at != len(r.varints) {
		return damaged("%d bytes after the times", len(r.varints)-m.at)
	}
	r.decoded[k] = true
	r.left--
	return nil
}

// noBits are read as the time bits of steps that have no bits of their own.
var noBits [8]byte

// steps decodes the times of the rows behind row i, of which m is the mark, and moves m to the
// last of them.
func (r *timeReader) steps(out []int64, i int, m *timeMark) error {
	p, low := r.varints[m.at:], r.low
	t, step, unit, keep, w := m.time, m.step, r.unit, r.keep, r.width&63
	mask := uint64(1)<<w - 1
	// Eight at once where each has one byte, and its bits lie within eight bytes.
	const each = 8
	whole := min(len(out), (len(low)-8)*8/max(int(w), 1)-i)
	if w == 0 {
		low, whole = noBits[:], len(out)
	}
	n := 0
	for n+each <= whole && len(p) >= each {
		packed := binary.LittleEndian.Uint64(p)
		bit := uint(i+n) * w
		if packed&longBytes != 0 {
			v, size := binary.Uvarint(p)
			if size <= 0 {
				return damaged("times end before all rows")
			}
			p = p[size:]
			bits := binary.LittleEndian.Uint64(low[bit>>3:]) >> (bit & 7) & mask
			step = step&keep + ((int64(v>>1)^-int64(v&1))<<w | int64(bits))
			t += step * unit
			out[n] = t
			n++
			continue
		}
		p = p[each:]
		eight := (*[each]int64)(out[n:])
		for k := range eight {
			bits := binary.LittleEndian.Uint64(low[bit>>3:]) >> (bit & 7) & mask
			bit += w
			step = step&keep + ((int64(packed>>1&0x3f)^-int64(packed&1))<<w | int64(bits))
			packed >>= 8
			t += step * unit
			eight[k] = t
		}
		n += each
	}
	for ; n < len(out); n++ {
		v, size := binary.Uvarint(p)
		if size <= 0 {
			return damaged("times end before all rows")
		}
		p = p[size:]
		d := int64(v>>1) ^ -int64(v&1)
		step = step&keep + (d<<w | int64(column.BitsAt(low, uint(i+n)*w)&mask))
		t += step * unit
		out[n] = t
	}
	*m = timeMark{t, step, len(r.varints) - len(p)}
	return nil
}

// all returns the times of all rows.
func (r *timeReader) all() ([]int64, error) {
	if r.left > 0 {
		return r.between(0, r.rows)
	}
	return r.times[:r.rows], nil
}

// span returns the least and the greatest of the times of all rows.
func (r *timeReader) span() (first, last int64, err error) {
	if !r.hasSpan {
		times, err := r.all()
		if err != nil {
			return 0, 0, err
		}
		r.first, r.last, r.hasSpan = slices.Min(times), slices.Max(times), true
	}
	return r.first, r.last, nil
}

// between returns the times of all rows, of which only those from first to end, which is not
// included, need be set.
func (r *timeReader) between(first, end int) ([]int64, error) {
	if first < end {
		for k := first / r.piece; k <= (end-1)/r.piece; k++ {
			if err := r.decode(k); err != nil {
				return nil, err
			}
		}
	}
	return r.times[:r.rows], nil
}

// at returns the time of a row.
func (r *timeReader) at(row int) (int64, error) {
	if k := row / r.piece; row == k*r.piece {
		return r.marks[k].time, nil
	} else if err := r.decode(k); err != nil {
		return 0, err
	}
	return r.times[row], nil
}

// search returns the first of the rows from first to end, which is not included, that has a
// time at or after t, else end. They are in the order of time.
func (r *timeReader) search(first, end int, t int64) (int, error) {
	if first >= end {
		return end, nil
	}
	// It is in piece k, or the first row of the next one.
	k := first / r.piece
	k += sort.Search((end-1)/r.piece-k, func(i int) bool { return r.marks[k+1+i].time >= t })
	if err := r.decode(k); err != nil {
		return 0, err
	}
	first, end = max(first, k*r.piece), min(end, (k+1)*r.piece)
	return first + sort.Search(end-first, func(i int) bool { return r.times[first+i] >= t }), nil
}

func (r *timeReader) weight() int64 {
	return 8*int64(cap(r.times)) + 24*int64(cap(r.marks)) + int64(cap(r.decoded))
}

// release forgets the sections.
func (r *timeReader) release() { r.varints, r.low, r.rows = nil, nil, 0 }
