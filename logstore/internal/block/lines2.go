package block

import (
	"bytes"
	"math/bits"
	"slices"
)

// A valueCounter counts the values of columns that lines have before one.
type valueCounter struct {
	// If few lines are made, before has how many lines there are of each template; else
	// cursors has how many values there are of each column.
	few             bool
	before, cursors []uint32
}

// begin readies the counter for so many lines of an open block.
func (v *valueCounter) begin(d *decoder2, lines int) {
	values := uint64(0)
	for i := range d.head.columns {
		values += uint64(d.head.columns[i].count)
	}
	if v.few = uint64(lines)*uint64(len(d.head.slots)) < values; v.few {
		v.before = append(v.before[:0], make([]uint32, len(d.table))...)
	} else {
		v.cursors = append(v.cursors[:0], make([]uint32, len(d.head.columns))...)
	}
}

// skip counts lines of these templates.
func (v *valueCounter) skip(d *decoder2, templates []uint16) {
	if v.few {
		for _, k := range templates {
			v.before[k]++
		}
		return
	}
	for _, k := range templates {
		for _, c := range d.slotsOf(int(k)) {
			v.cursors[c]++
		}
	}
}

// at returns which value of its column slot j of the next line has, which is of template k.
func (v *valueCounter) at(d *decoder2, k, j int) (value uint32) {
	slots := d.slotsOf(k)
	c := slots[j]
	for _, of := range slots[:j] {
		if of == c {
			value++
		}
	}
	switch {
	case !v.few:
		return value + v.cursors[c]
	case d.head.columns[c].count == d.table[k].Rows: // it has the variables of this slot alone
		return v.before[k]
	}
	for k, lines := range v.before {
		if lines > 0 {
			for _, of := range d.slotsOf(k) {
				if of == c {
					value += lines
				}
			}
		}
	}
	return value
}

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
			v.skip(d, d.rowsOf[row:row+1])
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

// appendLine appends the line that d.counter has come to, which is of template k.
func (d *decoder2) appendLine(text []byte, k int) ([]byte, error) {
	t := d.dictionary.At(d.table[k].ID)
	text = append(text, t.Literal(0)...)
	for j, c := range d.slotsOf(k) {
		col, err := d.columnAt(c)
		if err != nil {
			return text, err
		}
		text = append(col.AppendValue(text, int(d.counter.at(d, k, j))), t.Literal(j+1)...)
		if len(text) > MaxRaw+d.header.rows {
			return text, damaged("more than %d bytes of lines", MaxRaw)
		}
	}
	return text, nil
}

var separators = bytes.Repeat([]byte{separator}, 256)

func appendSeparators(dst []byte, n int) []byte {
	for ; n > len(separators); n -= len(separators) {
		dst = append(dst, separators...)
	}
	return append(dst, separators[:n]...)
}
