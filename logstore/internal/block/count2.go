package block

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/template"
)

// Count returns how many rows of the open block pass the test of a plan for its dictionary.
// It reads the columns that tell, but no times, metadata or lines. ok is false if that takes
// lines, since some row only may pass, or for a block of version 1.
func (d *Decoder) Count(p *template.Plan) (n int, ok bool, err error) {
	if d.decoding == nil {
		return 0, false, errNotOpen
	}
	if d.decoding != &d.version2 {
		return 0, false, nil
	}
	return d.version2.count(p)
}

// count adds up the rows that pass the test. ok is false if some only may.
func (d *decoder2) count(p *template.Plan) (n int, ok bool, err error) {
	s := d.begin()
	c, inVariable := p.InVariable()
	for k, t := range d.table {
		if inVariable && p.OnlyInVariable(t.ID) {
			continue
		}
		of, ok, err := d.countTemplate(p, k)
		if !ok || err != nil {
			return 0, false, err
		}
		n += of
	}
	if !inVariable {
		return n, true, nil
	}
	of, err := s.counts.variables(d, p, &c)
	return n + of, err == nil, err
}

// countTemplate is count for the rows of one template.
func (d *decoder2) countTemplate(p *template.Plan, k int) (n int, ok bool, err error) {
	s, t := &d.searches, d.table[k]
	switch p.Verdict(t.ID) {
	case template.Never:
		return 0, true, nil
	case template.Always:
		return int(t.Rows), true, nil
	}
	s.vars.template = k
	m := s.scanner.Scan(p, t.ID, &s.vars)
	if s.vars.err != nil {
		return 0, false, s.vars.err
	}
	for i, w := range m.May {
		if w != m.Sure[i] {
			return 0, false, nil
		}
		n += bits.OnesCount64(w)
	}
	return n, true, nil
}

// A counting counts rows of which the variable in any slot passes a test. It asks each column
// once. A row may have values that pass in several slots: they are counted as values only for a
// column all of whose values are in rows that have one slot of it, and nothing else that passes.
// Other templates have the bits of their columns united, or, if these have values of other templates
// as well, their rows looked at in one walk for all.
type counting struct {
	columns  []countedColumn
	bits     []uint64 // of the values of columns
	open     []uint32 // templates of which some rows pass, by their place in the table
	united   []uint64
	walks    []templateWalk // by template
	users    []uint32
	cursors  []uint32
	isWanted []uint8
}

// A countedColumn is what is known of a column.
type countedColumn struct {
	share  share2
	walked bool
	bits   uint32 // where those of its values begin
	passed uint32 // values
	single uint32 // rows of templates of which one slot alone has values that pass, and has this column
}

func (s *counting) weight() int64 {
	return int64(cap(s.columns))*int64(unsafe.Sizeof(countedColumn{})) + 8*int64(cap(s.bits)+cap(s.united)) +
		4*int64(cap(s.open)+cap(s.users)+cap(s.cursors)) + int64(cap(s.walks))*int64(unsafe.Sizeof(templateWalk{})) + int64(cap(s.isWanted))
}

// variables counts the rows of all templates that only the condition c on their variables
// decides.
func (s *counting) variables(d *decoder2, p *template.Plan, c *template.Condition) (n int, err error) {
	s.columns = append(s.columns[:0], make([]countedColumn, len(d.head.columns))...)
	s.bits, s.open = s.bits[:0], s.open[:0]
	d.searches.condition(c, len(d.head.columns)) // that of texts that are looked for
	test := test2(c)
	for k, t := range d.table {
		if !p.OnlyInVariable(t.ID) {
			continue
		}
		found, all := 0, false
		last := uint32(0)
		for _, number := range d.slotsOf(k) {
			e := &s.columns[number]
			if e.share == shareUnknown {
				if err := s.ask(d, number, test); err != nil {
					return 0, err
				}
			}
			if e.share == shareNone {
				continue
			}
			if all = e.share == shareAll; all {
				break
			}
			found++
			last = number
		}
		switch {
		case all:
			n += int(t.Rows)
		case found > 0:
			s.open = append(s.open, uint32(k))
			if found == 1 {
				s.columns[last].single += t.Rows
			}
		}
	}
	if len(s.open) == 0 {
		return n, nil
	}
	of, err := s.countOpen(d)
	return n + of, err
}

// ask finds the values of a column that pass the test.
func (s *counting) ask(d *decoder2, number uint32, t column.Test) error {
	e := &s.columns[number]
	share, err := d.peekPacked(number, t)
	if err != nil {
		return err
	}
	if e.share = share; share != shareSome {
		return nil
	}
	col, err := d.openFor(number)
	if err != nil {
		return err
	}
	words := (col.Count() + 63) / 64
	e.bits = uint32(len(s.bits))
	s.bits = slices.Grow(s.bits, words)[:len(s.bits)+words]
	of := s.bits[e.bits:]
	clear(of)
	col.Match(of, t)
	for _, w := range of {
		e.passed += uint32(bits.OnesCount64(w))
	}
	if e.passed == 0 {
		e.share, s.bits = shareNone, s.bits[:e.bits]
	}
	return nil
}

// countOpen counts the rows of open templates.
func (s *counting) countOpen(d *decoder2) (n int, err error) {
	s.isWanted = append(s.isWanted[:0], make([]uint8, len(d.table))...)
	walk := false
	for _, k := range s.open {
		rows := d.table[k].Rows
		found, own := 0, true
		last := uint32(0)
		for _, number := range d.slotsOf(int(k)) {
			if s.columns[number].share == shareSome {
				found++
				last = number
				own = own && d.head.columns[number].count == rows
			}
		}
		switch e := &s.columns[last]; {
		case found == 1 && e.single == d.head.columns[last].count: // all its values are of such templates
			n += int(e.passed)
			e.passed = 0
		case own:
			n += s.unite(d, int(k))
		default:
			s.isWanted[k], walk = 1, true
			for _, number := range d.slotsOf(int(k)) {
				e := &s.columns[number]
				e.walked = e.share == shareSome
			}
		}
	}
	if !walk {
		return n, nil
	}
	of, err := s.walk(d)
	return n + of, err
}

// unite counts the rows of a template of which all columns with values that pass have those of
// its rows alone.
func (s *counting) unite(d *decoder2, k int) (n int) {
	words := int(d.table[k].Rows+63) / 64
	s.united = slices.Grow(s.united[:0], words)[:words]
	clear(s.united)
	for _, number := range d.slotsOf(k) {
		if e := &s.columns[number]; e.share == shareSome {
			for i, w := range s.bits[e.bits:][:words] {
				s.united[i] |= w
			}
		}
	}
	for _, w := range s.united {
		n += bits.OnesCount64(w)
	}
	return n
}

// walk counts the rows of wanted templates, in the order of rows, which is that of the values of
// columns.
func (s *counting) walk(d *decoder2) (n int, err error) {
	if err := d.openRows(); err != nil {
		return 0, err
	}
	s.listUsers(d)
	// Mostly a template has one of the columns, or none: that is one without a step.
	for _, k := range d.rowsOf {
		w := &s.walks[k]
		at := s.cursors[w.column]
		s.cursors[w.column] = at + w.step
		passes := s.bits[at/64] >> (at % 64)
		for _, number := range s.users[w.more:w.end] {
			at := s.cursors[number]
			s.cursors[number] = at + 1
			passes |= s.bits[at/64] >> (at % 64)
		}
		n += int(passes & w.wanted)
	}
	return n, nil
}

// A templateWalk is what a row of a template has of columns that are walked: the first of these,
// and, in users, the others.
type templateWalk struct {
	column, step uint32
	more, end    uint32
	wanted       uint64 // 1 if the row is to be counted
}

// listUsers readies the walk.
func (s *counting) listUsers(d *decoder2) {
	s.users, s.walks = s.users[:0], s.walks[:0]
	for k := range d.table {
		w := templateWalk{wanted: uint64(s.isWanted[k]), more: uint32(len(s.users))}
		for _, number := range d.slotsOf(k) {
			switch {
			case !s.columns[number].walked:
			case w.step == 0:
				w.column, w.step = number, 1
			default:
				s.users = append(s.users, number)
			}
		}
		w.end = uint32(len(s.users))
		s.walks = append(s.walks, w)
	}
	s.cursors = s.cursors[:0]
	for i := range s.columns { // in bits
		s.cursors = append(s.cursors, 64*s.columns[i].bits)
	}
	s.bits = append(s.bits, 0) // that a cursor at the end is in
}
