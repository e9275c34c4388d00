package block

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/column"
)

// A fields2 is the memory of reading fields of blocks of version 2.
type fields2 struct {
	plans []*FieldPlan
	// Rows by template: those of template k are rows[starts[k]:starts[k+1]], in order. rows is
	// empty if there is one template.
	rows   []uint32
	starts []uint32
	uses   []columnUse // by column
	// Of columns whose values are not in the order of lines or rows, the numbers of the values
	// in a slot, by line; and where those of each slot begin, +1, 0 if they are not there.
	values  []uint32
	areas   []uint32
	cursors []uint32
	steps   []walkStep
	stepsOf []uint32

	bits   []uint64
	broken []brokenRule
	parts  []uint32        // by column, 1 + the place of its part among the values of a field
	coding []column.Coding // by column, once it is asked for
	room   column.Column
}

// A columnUse says in which slots the values of a column are.
type columnUse struct {
	slots  uint32 // of all templates
	within uint32 // templates that have one of them
	last   uint32 // 1 + the last template that has one
	wanted bool   // values are asked for by line, and so must be found
	coded  bool
}

// A walkStep is a slot of a template whose values are numbered.
type walkStep struct {
	column uint32
	area   uint32
}

// A brokenRule is the values of a column that break a rule, as bits.
type brokenRule struct {
	column uint32
	rule   *column.Rule
	from   int // in bits; -1: none does
}

// release forgets the plans, their rules and the values of columns.
func (f *fields2) release() {
	f.plans = nil
	clear(f.broken[:cap(f.broken)])
	f.room.Release()
}

// slotValues are the values of a slot by line.
type slotValues struct {
	column *column.Column
	values []uint32 // nil: value i is that of line i
}

func (s *slotValues) at(line uint32) uint32 {
	if s.values == nil {
		return line
	}
	return s.values[line]
}

// weight returns about how many bytes of memory are kept.
func (f *fields2) weight() int64 {
	return 4*int64(cap(f.rows)+cap(f.values)+cap(f.areas)+cap(f.parts)+4*cap(f.uses)+2*cap(f.steps)) + 8*int64(cap(f.bits)) + 48*int64(cap(f.coding)) + f.room.Weight()
}

// fields fills to.
func (d *decoder2) fields(to *FieldRows, plans []*FieldPlan, fields int) error {
	f := &d.fieldsOf
	f.plans = plans
	to.reset(fields, d.header.rows)
	if !slices.ContainsFunc(plans, func(p *FieldPlan) bool { return p != nil }) {
		return nil
	}
	if err := d.openRows(); err != nil {
		return err
	}
	f.use(d)
	f.setKnown(d, to.Known)
	if err := f.rules(d, to.Known); err != nil {
		return err
	}
	f.want(d)
	f.orderRows(d)
	f.number(d)
	for i := range fields {
		if err := f.field(d, i, to.Codes[i], &to.Values[i]); err != nil {
			return err
		}
	}
	return nil
}

// use finds which slots use which columns.
func (f *fields2) use(d *decoder2) {
	n := len(d.head.columns)
	f.uses = slices.Grow(f.uses[:0], n)[:n]
	clear(f.uses)
	f.coding = slices.Grow(f.coding[:0], n)[:n]
	clear(f.coding)
	for k := range d.table {
		for _, c := range d.slotsOf(k) {
			u := &f.uses[c]
			u.slots++
			if u.last != uint32(k)+1 {
				u.last = uint32(k) + 1
				u.within++
			}
		}
	}
}

// slotsOf returns the columns of the slots of template k of the table.
func (d *decoder2) slotsOf(k int) []uint32 { return d.head.slots[d.head.first[k]:d.head.first[k+1]] }

// setKnown sets the bits of rows with a plan.
func (f *fields2) setKnown(d *decoder2, known []uint64) {
	n := d.header.rows
	if !slices.Contains(f.plans, nil) {
		for i := range known {
			known[i] = ^uint64(0)
		}
		known[len(known)-1] >>= (64 - n%64) % 64
		return
	}
	for row, k := range d.rowsOf {
		if f.plans[k] != nil {
			known[row/64] |= 1 << (row % 64)
		}
	}
}

// rules unsets the bits of rows with variables that break a rule.
func (f *fields2) rules(d *decoder2, known []uint64) error {
	f.bits, f.broken = f.bits[:0], f.broken[:0]
	any := false
	for k, p := range f.plans {
		if p == nil {
			continue
		}
		for slot, rule := range p.Rules {
			if rule == nil {
				continue
			}
			b, err := f.breaks(d, d.slotsOf(k)[slot], rule)
			if err != nil {
				return err
			}
			any = any || b.from >= 0
		}
	}
	if any {
		f.unsetBroken(d, known)
	}
	return nil
}

// breaks returns which values of a column break a rule.
func (f *fields2) breaks(d *decoder2, number uint32, rule *column.Rule) (b brokenRule, err error) {
	for i := len(f.broken) - 1; i >= 0; i-- {
		if b := f.broken[i]; b.column == number && b.rule == rule {
			return b, nil
		}
	}
	b = brokenRule{number, rule, -1}
	if kept, err := f.keeps(d, number, rule); err != nil {
		return b, err
	} else if !kept {
		col, err := d.columnAt(number)
		if err != nil {
			return b, err
		}
		from := len(f.bits)
		f.bits = append(f.bits, make([]uint64, (col.Count()+63)/64)...)
		if col.Breaks(f.bits[from:], rule) {
			b.from = from
		} else {
			f.bits = f.bits[:from]
		}
	}
	f.broken = append(f.broken, b)
	return b, nil
}

// keeps reports whether a column keeps a rule, if that is known before it is open.
func (f *fields2) keeps(d *decoder2, number uint32, rule *column.Rule) (bool, error) {
	if err := d.openPacked(); err != nil {
		return false, err
	}
	c := &d.head.columns[number]
	packed := d.packed[c.packedAt:][:c.packed]
	if !rule.MayBreak(packed) {
		return true, nil
	}
	text, err := d.textOf(int(number))
	return err == nil && rule.KeptBy(packed, text, int(c.count), &f.room), err
}

// unsetBroken goes through all rows: it is seldom asked for.
func (f *fields2) unsetBroken(d *decoder2, known []uint64) {
	f.cursors = append(f.cursors[:0], make([]uint32, len(d.head.columns))...)
	var asked [][]int // by template and slot, the bits of a rule, -1 without one
	for k, p := range f.plans {
		list := make([]int, len(d.slotsOf(k)))
		for slot, c := range d.slotsOf(k) {
			list[slot] = -1
			if p == nil || slot >= len(p.Rules) || p.Rules[slot] == nil {
				continue
			}
			at := slices.IndexFunc(f.broken, func(b brokenRule) bool { return b.column == c && b.rule == p.Rules[slot] })
			list[slot] = f.broken[at].from
		}
		asked = append(asked, list)
	}
	for row, k := range d.rowsOf {
		bits := asked[k]
		for slot, c := range d.slotsOf(int(k)) {
			i := f.cursors[c]
			f.cursors[c]++
			if from := bits[slot]; from >= 0 && f.bits[from+int(i/64)]>>(i%64)&1 != 0 {
				known[row/64] &^= 1 << (row % 64)
			}
		}
	}
}

// want notes of which columns the values are wanted.
func (f *fields2) want(d *decoder2) {
	for k, p := range f.plans {
		if p == nil {
			continue
		}
		for i := range p.Fields {
			for _, piece := range p.Fields[i].pieces {
				if piece.slot >= 0 {
					f.uses[d.slotsOf(k)[piece.slot]].wanted = true
				}
			}
		}
	}
}

// orderRows gives each template its rows.
func (f *fields2) orderRows(d *decoder2) {
	f.rows, f.starts = f.rows[:0], f.starts[:0]
	at := uint32(0)
	for _, t := range d.table {
		f.starts = append(f.starts, at)
		at += t.Rows
	}
	f.starts = append(f.starts, at)
	if len(d.table) == 1 {
		return
	}
	f.rows = slices.Grow(f.rows, int(at))[:at]
	f.cursors = append(f.cursors[:0], f.starts...)
	for row, k := range d.rowsOf {
		f.rows[f.cursors[k]] = uint32(row)
		f.cursors[k]++
	}
}

// rowsAt returns the rows of template k, nil if these are all.
func (f *fields2) rowsAt(k int) []uint32 {
	if len(f.rows) == 0 {
		return nil
	}
	return f.rows[f.starts[k]:f.starts[k+1]]
}

// byRow reports whether value i of a column is that of row i.
func (f *fields2) byRow(d *decoder2, c uint32) bool {
	u := &f.uses[c]
	return u.slots == u.within && int(d.head.columns[c].count) == d.header.rows
}

// number finds the values of the slots of wanted columns that several slots share.
func (f *fields2) number(d *decoder2) {
	f.areas = append(f.areas[:0], make([]uint32, len(d.head.slots))...)
	f.steps, f.stepsOf = f.steps[:0], f.stepsOf[:0]
	size := uint32(0)
	for k, t := range d.table {
		f.stepsOf = append(f.stepsOf, uint32(len(f.steps)))
		for slot, c := range d.slotsOf(k) {
			if u := &f.uses[c]; !u.wanted || u.slots == 1 || f.byRow(d, c) {
				continue
			}
			f.areas[int(d.head.first[k])+slot] = 1 + size
			f.steps = append(f.steps, walkStep{column: c, area: size})
			size += t.Rows
		}
	}
	f.stepsOf = append(f.stepsOf, uint32(len(f.steps)))
	if len(f.steps) == 0 {
		return
	}
	f.values = slices.Grow(f.values[:0], int(size))[:size]
	f.cursors = append(f.cursors[:0], make([]uint32, len(d.head.columns))...)
	for _, k := range d.rowsOf {
		steps := f.steps[f.stepsOf[k]:f.stepsOf[k+1]]
		for i := range steps {
			s := &steps[i]
			f.values[s.area] = f.cursors[s.column]
			s.area++
			f.cursors[s.column]++
		}
	}
}

// valuesAt returns the numbers of the values in a slot, by line. nil: value i is that of line
// i.
func (f *fields2) valuesAt(d *decoder2, k, slot int) []uint32 {
	c := d.slotsOf(k)[slot]
	if area := f.areas[int(d.head.first[k])+slot]; area > 0 {
		return f.values[area-1:][:d.table[k].Rows]
	}
	if f.uses[c].slots == 1 {
		return nil
	}
	return f.rowsAt(k) // it is byRow
}

// field fills the codes and values of field i.
func (f *fields2) field(d *decoder2, i int, codes []uint32, values *FieldValues) error {
	f.parts = append(f.parts[:0], make([]uint32, len(d.head.columns))...)
	for k, p := range f.plans {
		if p == nil {
			continue
		}
		field, rows := &p.Fields[i], f.rowsAt(k)
		before, slot, behind := field.around()
		switch {
		case field.Absent:
			fill(codes, rows, 0)
		case slot == -1:
			first, err := values.text(before)
			if err != nil {
				return err
			}
			fill(codes, rows, first)
		case slot >= 0:
			known, err := f.columnCodes(d, k, slot, before, behind, codes, values)
			if err != nil {
				return err
			}
			if !known {
				err = f.lineCodes(d, k, field, codes, values)
			}
			if err != nil {
				return err
			}
		default:
			if err := f.lineCodes(d, k, field, codes, values); err != nil {
				return err
			}
		}
	}
	return nil
}

// columnCodes gives the rows of a template the codes of the values of a slot between two
// texts. ok is false if lines have fewer codes: texts make other values of those of a column,
// for each template.
func (f *fields2) columnCodes(d *decoder2, k, slot int, before, behind []byte, codes []uint32, values *FieldValues) (ok bool, err error) {
	c := d.slotsOf(k)[slot]
	if err := f.code(d, c); err != nil {
		return false, err
	}
	bare := len(before)+len(behind) == 0
	if !bare && f.coding[c].Len() > int(d.table[k].Rows) {
		return false, nil
	}
	first := uint32(0)
	if i := f.parts[c]; bare && i > 0 {
		first = values.parts[i-1].first
	} else {
		part := valuePart{before: before, behind: behind, coding: f.coding[c], kind: valueColumn}
		if first, err = values.add(part, f.coding[c].Len()); err != nil {
			return false, err
		}
		if bare {
			f.parts[c] = uint32(len(values.parts))
		}
	}
	f.codes(codes, f.rowsAt(k), &f.coding[c], f.valuesAt(d, k, slot), first)
	return true, nil
}

// code numbers the values of a column.
func (f *fields2) code(d *decoder2, c uint32) error {
	col, err := d.columnAt(c)
	if u := &f.uses[c]; err == nil && !u.coded {
		u.coded = true
		f.coding[c] = col.Coding()
	}
	return err
}

// lineCodes gives each row of a template a code of its own.
func (f *fields2) lineCodes(d *decoder2, k int, field *Field, codes []uint32, values *FieldValues) error {
	first, err := f.linesPart(d, k, field, values)
	if err != nil {
		return err
	}
	rows := f.rowsAt(k)
	for line := range d.table[k].Rows {
		row := line
		if rows != nil {
			row = rows[line]
		}
		codes[row] = first + line
	}
	return nil
}

// fill gives rows, nil for all of them, a code.
func fill(codes []uint32, rows []uint32, code uint32) {
	if rows == nil {
		for i := range codes {
			codes[i] = code
		}
	}
	for _, row := range rows {
		codes[row] = code
	}
}

// codes gives the rows of a template the codes of the values of a slot.
func (f *fields2) codes(codes, rows []uint32, coding *column.Coding, values []uint32, first uint32) {
	if rows == nil {
		coding.Codes(codes, values, first)
		return
	}
	f.cursors = slices.Grow(f.cursors[:0], len(rows))[:len(rows)]
	coding.Codes(f.cursors, values, first)
	for i, row := range rows {
		codes[row] = f.cursors[i]
	}
}

// text returns the code of a text.
func (v *FieldValues) text(text []byte) (code uint32, err error) {
	if n := len(v.parts); n > 0 && v.parts[n-1].kind == valueText && string(v.parts[n-1].before) == string(text) {
		return v.parts[n-1].first, nil
	}
	return v.add(valuePart{before: text, kind: valueText}, 1)
}

// linesPart returns the first code of the values of a field with slots, one for each line of
// a template.
func (f *fields2) linesPart(d *decoder2, k int, field *Field, values *FieldValues) (first uint32, err error) {
	part := valuePart{kind: valueLines, pieces: field.pieces}
	for _, p := range field.pieces {
		if p.slot < 0 {
			continue
		}
		col, err := d.columnAt(d.slotsOf(k)[p.slot])
		if err != nil {
			return 0, err
		}
		part.slots = append(part.slots, slotValues{col, f.valuesAt(d, k, p.slot)})
	}
	return values.add(part, int(d.table[k].Rows))
}
