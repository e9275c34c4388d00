package block

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/template"
)

// Search returns which rows of the open block pass the test of a plan for its dictionary:
// rows of Sure do, those of May that are not of Sure may, others do not. Row i is bit i%64
// of word i/64. The bits are valid until the next call. ok is false for a block of version
// 1, of which it tells nothing.
func (d *Decoder) Search(p *template.Plan) (m template.Matches, ok bool, err error) {
	if d.decoding == nil {
		return m, false, errNotOpen
	}
	if d.decoding != &d.version2 {
		return m, false, nil
	}
	m, err = d.version2.search(p)
	return m, err == nil, err
}

// LinesOf decodes metadata, and the lines of the rows whose bits are set, for Line and Meta.
// Other lines of a block of version 2 are empty until Lines is called.
func (d *Decoder) LinesOf(rows []uint64) error {
	if d.decoding != &d.version2 {
		return d.Lines()
	}
	if !d.rows.lines.empty() && !d.partly {
		return nil
	}
	if err := d.Metadata(); err != nil {
		return err
	}
	d.rows.lines.reset()
	err := d.version2.linesOf(&d.rows.lines, rows)
	if d.partly = err == nil; !d.partly {
		d.rows.lines.reset()
	}
	return err
}

// A search2 is the memory of searches in blocks of version 2.
type search2 struct {
	scanner template.Scanner
	vars    variables2
	// By template of the table, where its bits begin in bits, first of May and then of Sure.
	starts []uint32
	bits   []uint64
	orders []uint32
	found  map[search2Key]search2Result
	hits   []uint64
	values []uint64 // of a column, as bits
	// By slot of all templates, where its words begin among those of its column; and how many
	// words a column has.
	areas, sizes []uint32
	users        []uint32 // of a column, the slots; and where those of each template begin
	usersOf      []uint32
	all          template.Matches
}

// weight returns about how many bytes of memory are kept.
func (s *search2) weight() int64 {
	return 8*int64(cap(s.bits)+cap(s.hits)+cap(s.values)+cap(s.all.May)+cap(s.all.Sure)) +
		4*int64(cap(s.starts)+cap(s.orders)+cap(s.areas)+cap(s.sizes)+cap(s.users)+cap(s.usersOf))
}

// A search2Key is a condition on a column of several slots.
type search2Key struct {
	column uint32
	op     template.Op
	fold   bool
	text   *byte
	size   int
}

// A search2Result has the lines for whose variables a condition holds, as bits of hits,
// slot by slot: see search2.areas.
type search2Result struct {
	from int
	any  bool
}

// search evaluates the plan template by template.
func (d *decoder2) search(p *template.Plan) (template.Matches, error) {
	s := &d.searches
	if err := d.openRows(); err != nil {
		return template.Matches{}, err
	}
	if s.found == nil {
		s.found = make(map[search2Key]search2Result)
	}
	clear(s.found)
	s.hits, s.bits, s.starts = s.hits[:0], s.bits[:0], s.starts[:0]
	s.vars.d, s.vars.err = d, nil
	s.lay(d)
	for k, t := range d.table {
		s.vars.template = k
		m := s.scanner.Scan(p, t.ID, &s.vars)
		if s.vars.err != nil {
			return template.Matches{}, s.vars.err
		}
		s.starts = append(s.starts, uint32(len(s.bits)))
		s.bits = append(append(s.bits, m.May...), m.Sure...)
	}
	return s.spread(d), nil
}

// lay gives each slot its words among those of its column.
func (s *search2) lay(d *decoder2) {
	s.areas = s.areas[:0]
	s.sizes = append(s.sizes[:0], make([]uint32, len(d.head.columns))...)
	for k, t := range d.table {
		for _, c := range d.head.slots[d.head.first[k]:d.head.first[k+1]] {
			s.areas = append(s.areas, s.sizes[c])
			s.sizes[c] += (t.Rows + 63) / 64
		}
	}
}

// spread gives the bits of the lines of each template to their rows.
func (s *search2) spread(d *decoder2) template.Matches {
	words := (d.header.rows + 63) / 64
	m := &s.all
	m.May, m.Sure = append(m.May[:0], make([]uint64, words)...), append(m.Sure[:0], make([]uint64, words)...)
	s.orders = append(s.orders[:0], make([]uint32, len(d.table))...)
	for row, k := range d.rowsOf {
		i := s.orders[k]
		s.orders[k]++
		size := (d.table[k].Rows + 63) / 64
		at := s.starts[k] + i/64
		m.May[row/64] |= s.bits[at] >> (i % 64) & 1 << (row % 64)
		m.Sure[row/64] |= s.bits[at+size] >> (i % 64) & 1 << (row % 64)
	}
	return *m
}

// variables2 are the variables of one template.
type variables2 struct {
	d        *decoder2
	template int // in the table
	err      error
}

func (v *variables2) Rows() int { return int(v.d.table[v.template].Rows) }

// column returns the column of a slot, nil after an error.
func (v *variables2) column(slot int) (c *column.Column, number uint32) {
	number = v.d.head.slots[int(v.d.head.first[v.template])+slot]
	if v.err == nil {
		c, v.err = v.d.columnAt(number)
	}
	return c, number
}

func (v *variables2) May(c *template.Condition) bool {
	if v.err == nil {
		v.err = v.d.openPacked()
	}
	if v.err != nil || !v.d.mayHave(v.d.head.slots[int(v.d.head.first[v.template])+c.Slot], c.Text) {
		return false
	}
	col, _ := v.column(c.Slot)
	return v.err == nil && col.May(test2(c))
}

// mayHave reports whether a column may have a text, by its kind alone.
func (d *decoder2) mayHave(number uint32, text []byte) bool {
	if len(d.isOpen) > 0 && d.isOpen[number] {
		return true
	}
	c := &d.head.columns[number]
	digits, hex := column.Alphabet(d.packed[c.packedAt:][:c.packed])
	if !digits {
		return true
	}
	for _, b := range text {
		switch {
		case '+' <= b && b <= '9':
		case hex && ('a' <= b|0x20 && b|0x20 <= 'f'):
		default:
			return false
		}
	}
	return true
}

func test2(c *template.Condition) column.Test {
	return column.Test{Op: column.Op(c.Op), Fold: c.Fold, Text: c.Text}
}

func (v *variables2) Match(dst []uint64, c *template.Condition) (exact bool) {
	col, number := v.column(c.Slot)
	if v.err != nil {
		return false
	}
	if col.Count() == v.Rows() { // it has the variables of this slot alone
		col.Match(dst, test2(c))
		return true
	}
	if r := v.shared(col, number, c); r.any {
		s := &v.d.searches
		words := s.hits[r.from+int(s.areas[int(v.d.head.first[v.template])+c.Slot]):]
		for i := range dst[:(v.Rows()+63)/64] {
			dst[i] |= words[i]
		}
	}
	return true
}

// shared returns for which lines of all templates a condition on a column of several slots
// holds.
func (v *variables2) shared(col *column.Column, number uint32, c *template.Condition) search2Result {
	s := &v.d.searches
	key := search2Key{column: number, op: c.Op, fold: c.Fold, size: len(c.Text)}
	if len(c.Text) > 0 {
		key.text = &c.Text[0]
	}
	r, ok := s.found[key]
	if ok {
		return r
	}
	s.values = append(s.values[:0], make([]uint64, (col.Count()+63)/64)...)
	col.Match(s.values, test2(c))
	r.any = slices.ContainsFunc(s.values, func(w uint64) bool { return w != 0 })
	if r.any {
		r.from = len(s.hits)
		s.hits = append(s.hits, make([]uint64, s.sizes[number])...)
		s.project(v.d, number, s.hits[r.from:])
	}
	s.found[key] = r
	return r
}

// project sets the bits of the lines whose variables in a column are among values. Those
// of a column are in the order of rows, and then of slots.
func (s *search2) project(d *decoder2, number uint32, hits []uint64) {
	s.users, s.usersOf = s.users[:0], s.usersOf[:0]
	for k := range d.table {
		s.usersOf = append(s.usersOf, uint32(len(s.users)))
		for g := d.head.first[k]; g < d.head.first[k+1]; g++ {
			if d.head.slots[g] == number {
				s.users = append(s.users, 64*s.areas[g])
			}
		}
	}
	s.usersOf = append(s.usersOf, uint32(len(s.users)))
	s.orders = append(s.orders[:0], make([]uint32, len(d.table))...)
	i := 0
	for _, k := range d.rowsOf {
		line := s.orders[k]
		s.orders[k]++
		for _, at := range s.users[s.usersOf[k]:s.usersOf[k+1]] {
			bit := at + line
			hits[bit/64] |= s.values[i/64] >> (i % 64) & 1 << (bit % 64)
			i++
		}
	}
}

func (v *variables2) Bounds(slot int) *template.Bounds {
	b := &template.Bounds{}
	if col, _ := v.column(slot); v.err == nil {
		b.Min, b.Max, b.Bytes = col.Bounds()
	}
	return b
}

// linesOf makes some of the lines.
func (d *decoder2) linesOf(lines *texts, rows []uint64) error {
	if err := d.openRows(); err != nil {
		return err
	}
	n := d.header.rows
	d.cursors = append(d.cursors[:0], make([]uint32, len(d.head.columns))...)
	text, starts := lines.text[:0], append(slices.Grow(lines.starts[:0], n+1), 0)
	for row, k := range d.rowsOf {
		slots := d.head.slots[d.head.first[k]:d.head.first[k+1]]
		if rows[row/64]>>(row%64)&1 != 0 {
			t := d.dictionary.At(d.table[k].ID)
			text = append(text, t.Literal(0)...)
			for j, c := range slots {
				col, err := d.columnAt(c)
				if err != nil {
					return err
				}
				text = append(col.AppendValue(text, int(d.cursors[c])), t.Literal(j+1)...)
				d.cursors[c]++
				if len(text) > MaxRaw+n {
					return damaged("more than %d bytes of lines", MaxRaw)
				}
			}
		} else {
			for _, c := range slots {
				d.cursors[c]++
			}
		}
		if text = append(text, separator); len(text) > MaxRaw+n {
			return damaged("more than %d bytes of lines", MaxRaw)
		}
		starts = append(starts, uint32(len(text)))
	}
	lines.text, lines.starts = text, starts
	return nil
}
