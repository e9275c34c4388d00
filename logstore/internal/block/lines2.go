package block

import (
	"bytes"
	"math/bits"
	"slices"
)

// A valueCounter counts the values of columns that lines have before one.
type valueCounter struct {
	// cursors has how many values there are of each column. If few lines are made, only lines
	// are counted, in before by template, until a line has a column that several slots share:
	// then catchUp adds their values to cursors, and counted has the lines that are in these.
	// current is set while those are all lines.
	few, current             bool
	before, counted, cursors []uint32
}

// begin readies the counter for so many lines of an open block.
func (v *valueCounter) begin(d *decoder2, lines int) {
	values := uint64(0)
	for i := range d.head.columns {
		values += uint64(d.head.columns[i].count)
	}
	v.few, v.current = uint64(lines)*uint64(len(d.table)+len(d.head.slots)) < values, true
	v.cursors = append(v.cursors[:0], make([]uint32, len(d.head.columns))...)
	if v.few {
		v.before = append(v.before[:0], make([]uint32, len(d.table))...)
		v.counted = append(v.counted[:0], make([]uint32, len(d.table))...)
	}
}

// skip counts lines of these templates.
func (v *valueCounter) skip(d *decoder2, templates []uint16) {
	if v.few {
		for _, k := range templates {
			v.before[k]++
		}
		v.current = v.current && len(templates) == 0
		return
	}
	for _, k := range templates {
		for _, c := range d.slotsOf(int(k)) {
			v.cursors[c]++
		}
	}
}

// catchUp counts the values of lines that were only counted as lines.
func (v *valueCounter) catchUp(d *decoder2) {
	for k, lines := range v.before {
		if n := lines - v.counted[k]; n > 0 {
			v.counted[k] = lines
			for _, c := range d.slotsOf(k) {
				v.cursors[c] += n
			}
		}
	}
	v.current = true
}

// next counts the value of column c that the next slot of a line of template k has, and
// returns how many the column has before.
func (v *valueCounter) next(d *decoder2, k int, c uint32) uint32 {
	if v.few {
		if d.head.columns[c].count == d.table[k].Rows { // it has the variables of this slot alone
			return v.before[k]
		}
		if !v.current {
			v.catchUp(d)
		}
	}
	i := v.cursors[c]
	v.cursors[c]++
	return i
}

// endLine counts a line of template k, of which next counted the values.
func (v *valueCounter) endLine(k int) {
	if !v.few {
		return
	}
	v.before[k]++
	if v.current {
		v.counted[k]++
	}
}

// rebuiltShare is the least share of the rows for which texts of columns are drawn: to make a
// line alone takes several times as long, and to draw texts that are skipped is in vain.
const rebuiltShare = 8

// linesOf makes some of the lines.
func (d *decoder2) linesOf(lines *texts, rows []uint64) error {
	if err := d.openRows(); err != nil {
		return err
	}
	n := d.header.rows
	v, wanted := &d.counter, 0
	for _, word := range rows {
		wanted += bits.OnesCount64(word)
	}
	if wanted > n/rebuiltShare && 64*len(rows) >= n {
		if err := d.openVarying(false); err != nil {
			return err
		}
		return d.rebuild(lines, rows)
	}
	v.begin(d, wanted)
	text, starts := lines.text[:0], slices.Grow(lines.starts[:0], n+1)
	starts = append(starts, 0)
	from := 0 // of the rows behind the last line
	gap := func(to int) {
		v.skip(d, d.rowsOf[from:to])
		first := len(text)
		text = appendSeparators(text, to-from)
		for i := range to - from {
			starts = append(starts, uint32(first+i+1))
		}
	}
	for w, word := range rows {
		for ; word != 0; word &= word - 1 {
			row := 64*w + bits.TrailingZeros64(word)
			if row >= n {
				break
			}
			gap(row)
			var err error
			if text, err = d.appendLine(text, int(d.rowsOf[row])); err != nil {
				return err
			}
			text = append(text, separator)
			if len(text) > MaxRaw+n {
				return damaged("more than %d bytes of lines", MaxRaw)
			}
			starts = append(starts, uint32(len(text)))
			from = row + 1
		}
	}
	gap(n)
	if len(text) > MaxRaw+n {
		return damaged("more than %d bytes of lines", MaxRaw)
	}
	lines.text, lines.starts = text, starts
	return nil
}

// appendLine appends the line that d.counter has come to, which is of template k, and counts it.
func (d *decoder2) appendLine(text []byte, k int) ([]byte, error) {
	t := d.dictionary.At(d.table[k].ID)
	text = append(text, t.Literal(0)...)
	for j, c := range d.slotsOf(k) {
		col, err := d.columnAt(c)
		if err != nil {
			return text, err
		}
		text = append(col.AppendValue(text, int(d.counter.next(d, k, c))), t.Literal(j+1)...)
		if len(text) > MaxRaw+d.header.rows {
			return text, damaged("more than %d bytes of lines", MaxRaw)
		}
	}
	d.counter.endLine(k)
	return text, nil
}

var separators = bytes.Repeat([]byte{separator}, 256)

func appendSeparators(dst []byte, n int) []byte {
	for ; n > len(separators); n -= len(separators) {
		dst = append(dst, separators...)
	}
	return append(dst, separators[:n]...)
}
