package block

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/column"
)

// A rebuilding makes lines of templates and columns.
type rebuilding struct {
	plans    []plan2
	literals []byte        // of all templates, and copied bytes behind them
	pieces   []column.Span // the literals of each template: one more than it has slots
	piecesOf []uint32      // by number in the dictionary, 1 + where those of a template begin, or 0
	cursors  []cursor2     // of the columns
}

// A plan2 says how the lines of a template are made.
type plan2 struct {
	slots  []uint32      // the columns
	pieces []column.Span // the literals before, between and behind them
	size   int           // the most bytes of a line of which no variable is longer than copied
}

// A cursor2 has the next values of a column as texts.
type cursor2 struct {
	text  []byte
	spans []column.Span
	at    int    // of spans
	next  uint32 // the value after spans
}

// copied is how many bytes are copied at once: most texts are shorter, and one copy of a fixed
// size is cheaper than a call that must look at the size. What it writes behind a text is
// overwritten by the next one.
const copied = 32

// prepare makes the plans of the templates of an open block.
func (b *rebuilding) prepare(d *decoder2) {
	b.plans, b.literals, b.pieces = b.plans[:0], b.literals[:0], b.pieces[:0]
	b.piecesOf = append(b.piecesOf[:0], make([]uint32, d.dictionary.Len())...)
	for _, t := range d.table {
		if b.piecesOf[t.ID] > 0 { // it is in the table again
			continue
		}
		b.piecesOf[t.ID] = uint32(len(b.pieces)) + 1
		t := d.dictionary.At(t.ID)
		for j := range t.Slots() + 1 {
			from := len(b.literals)
			b.literals = append(b.literals, t.Literal(j)...)
			b.pieces = append(b.pieces, column.Span{From: uint32(from), To: uint32(len(b.literals))})
		}
	}
	b.literals = append(b.literals, make([]byte, 2*copied)...)
	for k, t := range d.table {
		slots := d.slotsOf(k)
		p := plan2{slots: slots, pieces: b.pieces[b.piecesOf[t.ID]-1:][:len(slots)+1]}
		p.size = int(p.pieces[len(slots)].To-p.pieces[0].From) + copied*len(slots) + 2*copied + 1
		b.plans = append(b.plans, p)
	}
	b.cursors = append(b.cursors[:0], make([]cursor2, len(d.head.columns))...)
}

// rebuild makes the lines. All columns are open.
func (d *decoder2) rebuild(lines *texts) (err error) {
	b := &d.lines2
	b.prepare(d)
	n := d.header.rows
	text, at := lines.text[:cap(lines.text)], 0
	starts := slices.Grow(lines.starts[:0], n+1)[:n+1]
	starts[0] = 0
	for row, k := range d.rowsOf {
		p := &b.plans[k]
		if len(text)-at < p.size {
			text = enlarge(text, at, p.size)
		}
		at = b.put(text, at, p.pieces[0])
		for j, c := range p.slots {
			cur := &b.cursors[c]
			if cur.at == len(cur.spans) {
				cur.fill(d.columns.all[c])
			}
			s := cur.spans[cur.at]
			cur.at++
			size := int(s.To - s.From)
			if from := int(s.From); size <= copied && from+copied <= len(cur.text) {
				copyShort(text[at:], cur.text[from:])
			} else {
				if at+size > MaxRaw+n {
					return damaged("more than %d bytes of lines", MaxRaw)
				}
				if len(text)-at < size+p.size {
					text = enlarge(text, at, size+p.size)
				}
				copy(text[at:], cur.text[s.From:s.To])
			}
			at = b.put(text, at+size, p.pieces[j+1])
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
	c.text, c.spans = of.Draw(int(c.next))
	c.at, c.next = 0, c.next+uint32(len(c.spans))
}

// put copies a literal to text[at:], and returns where it ends. There is space for more.
func (b *rebuilding) put(text []byte, at int, s column.Span) int {
	p := b.literals[s.From : s.To : s.To+copied]
	if len(p) > copied {
		return at + copy(text[at:], p)
	}
	copyShort(text[at:], p[:copied])
	return at + len(p)
}

// copyShort copies so many bytes. In one piece, the compiler would call a function for it.
func copyShort(dst, src []byte) {
	*(*[copied / 2]byte)(dst) = *(*[copied / 2]byte)(src)
	*(*[copied / 2]byte)(dst[copied/2:]) = *(*[copied / 2]byte)(src[copied/2:])
}

// enlarge returns text with its first bytes, and space for size more.
func enlarge(text []byte, first, size int) []byte {
	larger := make([]byte, max(first+first/4, first+size)+enlargeStep)
	copy(larger, text[:first])
	return larger
}

const enlargeStep = 64 << 10

func (b *rebuilding) weight() int64 {
	return int64(cap(b.literals)) + 8*int64(cap(b.pieces)) + 4*int64(cap(b.piecesOf)) + 56*int64(cap(b.plans)+cap(b.cursors))
}
