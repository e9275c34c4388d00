package block

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/column"
)

// A rebuilding makes lines of templates and columns.
type rebuilding struct {
	plans     []plan2
	steps     []step2  // of all plans
	literals  []byte   // of all templates, and copied bytes behind them
	constants [][]byte // by column: the value of all rows, or nil
	cursors   []cursor2
}

// A plan2 says how the lines of a template are made: a literal, and then the steps.
type plan2 struct {
	from, to uint32 // the literal, in rebuilding.literals
	size     int    // the most bytes of a line of which no variable is longer than copied
	steps    []step2
}

// A step2 is a variable, and the literal behind it.
type step2 struct {
	column   uint32
	from, to uint32
}

// A cursor2 has the next values of a column as texts.
type cursor2 struct {
	text  []byte
	spans []column.Span
	at    int    // the next one of spans; behind them, if values were skipped
	first uint32 // the value of the first span
}

// copied is how many bytes are copied at once: most texts are shorter, and one copy of a fixed
// size is cheaper than a call that must look at the size. What it writes behind a text is
// overwritten by the next one.
const copied = 32

// prepare makes the plans of the templates of an open block. A constant is a part of the
// literals around it.
func (b *rebuilding) prepare(d *decoder2) error {
	b.plans, b.literals, b.steps = b.plans[:0], b.literals[:0], slices.Grow(b.steps[:0], len(d.head.slots))
	for k := range d.table {
		p, ok := b.planOf(d, k)
		if !ok {
			return damaged("more than %d bytes of lines", MaxRaw)
		}
		b.plans = append(b.plans, p)
	}
	b.literals = append(b.literals, make([]byte, 4*copied)...)
	b.cursors = append(b.cursors[:0], make([]cursor2, len(d.head.columns))...)
	return nil
}

// planOf makes the plan of template k of the table. As there is a line of each, literals that
// are more bytes than lines may be are not ok.
func (b *rebuilding) planOf(d *decoder2, k int) (p plan2, ok bool) {
	t := d.dictionary.At(d.table[k].ID)
	first, from := len(b.steps), uint32(len(b.literals))
	p.from = from
	end := &p.to
	b.literals = append(b.literals, t.Literal(0)...)
	for j, c := range d.slotsOf(k) {
		if value := b.constants[c]; value != nil {
			b.literals = append(b.literals, value...)
		} else {
			*end = uint32(len(b.literals))
			b.steps = append(b.steps, step2{column: c, from: *end})
			end = &b.steps[len(b.steps)-1].to
		}
		if b.literals = append(b.literals, t.Literal(j+1)...); len(b.literals) > MaxRaw {
			return p, false
		}
	}
	*end = uint32(len(b.literals))
	p.steps = b.steps[first:]
	p.size = len(b.literals) - int(from) + copied*len(p.steps) + 4*copied + 1
	return p, len(b.literals) <= MaxRaw
}

// openVarying decodes the templates of the rows, keeps constants for prepare and, if all is
// set, opens all other columns.
func (d *decoder2) openVarying(all bool) error {
	if err := d.openRows(); err != nil {
		return err
	}
	b := &d.lines2
	b.constants = append(b.constants[:0], make([][]byte, len(d.head.columns))...)
	for i := range d.head.columns {
		value, ok, err := d.constant(i)
		if err != nil {
			return err
		}
		if ok {
			b.constants[i] = value
		} else if all {
			if _, err := d.columnAt(uint32(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// constant returns the value of a column of one value, which is not nil. ok is false for other columns.
func (d *decoder2) constant(i int) (value []byte, ok bool, err error) {
	if err := d.openPacked(); err != nil {
		return nil, false, err
	}
	c := &d.head.columns[i]
	packed := d.packed[c.packedAt:][:c.packed]
	if column.KindOf(packed) != column.Constant || c.count == 0 {
		return nil, false, nil
	}
	text, err := d.textOf(i)
	if err != nil {
		return nil, false, err
	}
	value, ok = column.ConstantOf(packed, text)
	if len(value) == 0 {
		value = noBytes
	}
	return value, ok, nil
}

var noBytes = []byte{}

// rebuild makes the lines, or those of the rows whose bits are set in only, unless it is nil:
// the others are empty. openVarying was called.
func (d *decoder2) rebuild(lines *texts, only []uint64) error {
	b := &d.lines2
	if err := b.prepare(d); err != nil {
		return err
	}
	n := d.header.rows
	text, at := lines.text[:cap(lines.text)], 0
	starts := slices.Grow(lines.starts[:0], n+1)[:n+1]
	starts[0] = 0
	for row, k := range d.rowsOf {
		p := &b.plans[k]
		if len(text)-at < p.size {
			text = enlarge(text, at, p.size)
		}
		if only != nil && only[row/64]>>(row%64)&1 == 0 {
			for i := range p.steps {
				b.cursors[p.steps[i].column].at++
			}
			text[at] = separator
			at++
			starts[row+1] = uint32(at)
			continue
		}
		at = put(text, at, b.literals, p.from, p.to)
		for i := range p.steps {
			s := &p.steps[i]
			cur := &b.cursors[s.column]
			if cur.at >= len(cur.spans) {
				c, err := d.columnAt(s.column)
				if err != nil {
					return err
				}
				cur.fill(c)
			}
			span := cur.spans[cur.at]
			cur.at++
			size := int(span.To - span.From)
			if from := int(span.From); size <= copied && from+copied <= len(cur.text) {
				copyShort((*[copied]byte)(text[at:]), (*[copied]byte)(cur.text[from:]))
			} else {
				if at+size > MaxRaw+n {
					return damaged("more than %d bytes of lines", MaxRaw)
				}
				if len(text)-at < size+p.size {
					text = enlarge(text, at, size+p.size)
				}
				copy(text[at:], cur.text[from:][:size])
			}
			at = put(text, at+size, b.literals, s.from, s.to)
		}
		text[at] = separator
		if at++; at > MaxRaw+n {
			return damaged("more than %d bytes of lines", MaxRaw)
		}
		starts[row+1] = uint32(at)
	}
	lines.text, lines.starts = text[:at], starts
	return nil
}

// fill makes text of the next values of the cursor's column.
func (c *cursor2) fill(of *column.Column) {
	c.first += uint32(c.at)
	c.text, c.spans = of.Draw(int(c.first))
	c.at = 0
}

// put copies literals[from:to] to text[at:], and returns where it ends. There is space for more.
func put(text []byte, at int, literals []byte, from, to uint32) int {
	for {
		dst, src := (*[2 * copied]byte)(text[at:]), (*[2 * copied]byte)(literals[from:])
		copyShort((*[copied]byte)(dst[:copied]), (*[copied]byte)(src[:copied]))
		copyShort((*[copied]byte)(dst[copied:]), (*[copied]byte)(src[copied:]))
		if to-from <= 2*copied {
			return at + int(to-from)
		}
		from += 2 * copied
		at += 2 * copied
	}
}

// copyShort copies so many bytes. In one piece, the compiler would call a function for it.
func copyShort(dst, src *[copied]byte) {
	*(*[copied / 2]byte)(dst[:copied/2]) = *(*[copied / 2]byte)(src[:copied/2])
	*(*[copied / 2]byte)(dst[copied/2:]) = *(*[copied / 2]byte)(src[copied/2:])
}

// enlarge returns text with its first bytes, and space for size more.
func enlarge(text []byte, first, size int) []byte {
	larger := make([]byte, max(first+first/4, first+size)+enlargeStep)
	copy(larger, text[:first])
	return larger
}

const enlargeStep = 64 << 10

// release forgets the block.
func (b *rebuilding) release() {
	clear(b.cursors[:cap(b.cursors)])
	clear(b.constants[:cap(b.constants)])
}

func (b *rebuilding) weight() int64 {
	return int64(cap(b.literals)) + 12*int64(cap(b.steps)) + 24*int64(cap(b.constants)) + 64*int64(cap(b.plans)+cap(b.cursors))
}
