package block

import (
	"math"
	"slices"
	"sort"

	"github.com/stele-go/stele/logstore/internal/column"
)

// A FieldPlan tells where the fields of lines of one template are.
type FieldPlan struct {
	Fields []Field
	// Rules has the rules of the slots, nil for a slot without one, or nothing at all. Equal
	// pointers are asked about once.
	Rules []*column.Rule
}

// A Field is the text of its pieces, one after the other, unless the lines lack it.
type Field struct {
	Absent bool
	pieces []piece
}

// A piece is a text or, if slot is not negative, the variable in a slot.
type piece struct {
	text []byte
	slot int
}

// AddText adds a piece of text, which the Field keeps.
func (f *Field) AddText(p []byte) {
	if len(p) > 0 {
		f.pieces = append(f.pieces, piece{p, -1})
	}
}

// AddSlot adds the variable of a slot.
func (f *Field) AddSlot(slot int) { f.pieces = append(f.pieces, piece{nil, slot}) }

// around returns the only slot of the field, and the texts before and behind it. slot is -1
// if there is no slot, and before the whole text then, and -2 if there are several.
func (f *Field) around() (before []byte, slot int, behind []byte) {
	slot = -1
	for _, p := range f.pieces {
		text := &before
		switch {
		case p.slot >= 0 && slot != -1:
			return nil, -2, nil
		case p.slot >= 0:
			slot = p.slot
			continue
		case slot >= 0:
			text = &behind
		}
		if *text == nil {
			*text = p.text
		} else {
			*text = slices.Concat(*text, p.text)
		}
	}
	return before, slot, behind
}

// FieldRows are the fields of the rows of a block. They are valid until the next Open of
// the Decoder that has filled them.
type FieldRows struct {
	// Known has the rows whose fields are known, as bits. What is told of others means nothing.
	Known []uint64
	// Codes has, for each field and row, the number of a value in Values.
	Codes  [][]uint32
	Values []FieldValues
}

// reset makes room for so many fields and rows.
func (f *FieldRows) reset(fields, rows int) {
	words := (rows + 63) / 64
	f.Known = slices.Grow(f.Known[:0], words)[:words]
	clear(f.Known)
	for len(f.Codes) < fields {
		f.Codes = append(f.Codes, nil)
		f.Values = append(f.Values, FieldValues{})
	}
	for i := range fields {
		f.Codes[i] = slices.Grow(f.Codes[i][:0], rows)[:rows]
		f.Values[i].reset()
	}
}

// Release forgets all values: the columns and templates that have them.
func (f *FieldRows) Release() {
	for i := range f.Values {
		f.Values[i].reset()
	}
}

// Weight returns about how many bytes of memory are kept.
func (f *FieldRows) Weight() (n int64) {
	for i := range f.Codes {
		n += 4*int64(cap(f.Codes[i])) + valuePartSize*int64(cap(f.Values[i].parts))
	}
	return n + 8*int64(cap(f.Known))
}

// FieldValues are the values of a field by code. Code 0 is that of no value.
type FieldValues struct {
	parts []valuePart
	end   uint32
	room  []byte
}

// A valuePart is the values of the codes from first on: those of a column, or a text.
type valuePart struct {
	first, n       uint32
	before, behind []byte
	coding         column.Coding
	kind           valueKind
	// Of lines:
	pieces []piece
	slots  []slotValues // of those pieces that are slots
}

const valuePartSize = 200

type valueKind uint8

const (
	valueText   valueKind = iota // before, alone
	valueColumn                  // those of the coding, between before and behind
	valueLines                   // that of each line of a template
)

func (v *FieldValues) reset() {
	clear(v.parts)
	v.parts, v.end = v.parts[:0], 1
}

// add adds a part of n codes, and returns the first of them.
func (v *FieldValues) add(p valuePart, n int) (first uint32, err error) {
	if uint64(v.end)+uint64(n) > math.MaxInt32 {
		return 0, damaged("a field has more than %d values", math.MaxInt32)
	}
	p.first, p.n = v.end, uint32(n)
	v.parts = append(v.parts, p)
	v.end += uint32(n)
	return p.first, nil
}

// Len returns the number of codes.
func (v *FieldValues) Len() int { return int(max(v.end, 1)) }

// AppendValue appends the value of a code that is below Len, nothing for 0.
func (v *FieldValues) AppendValue(dst []byte, code uint32) []byte {
	if code == 0 {
		return dst
	}
	i := 0
	if len(v.parts) > 1 {
		i = sort.Search(len(v.parts), func(i int) bool { return v.parts[i].first > code }) - 1
	}
	return v.parts[i].append(dst, code-v.parts[i].first)
}

func (p *valuePart) append(dst []byte, i uint32) []byte {
	switch p.kind {
	case valueText:
		return append(dst, p.before...)
	case valueColumn:
		dst = append(dst, p.before...)
		return append(p.coding.AppendValue(dst, i), p.behind...)
	}
	slots := p.slots
	for _, piece := range p.pieces {
		if piece.slot < 0 {
			dst = append(dst, piece.text...)
			continue
		}
		dst = slots[0].column.AppendValue(dst, int(slots[0].at(i)))
		slots = slots[1:]
	}
	return dst
}

// AppendNumbers appends a number for each code: NaN for 0, for others that of their texts,
// as column.AppendNumbers makes it.
func (v *FieldValues) AppendNumbers(dst []float64, parse func(text []byte) float64) []float64 {
	dst = append(dst, math.NaN())
	for i := range v.parts {
		p := &v.parts[i]
		if p.kind == valueColumn && len(p.before)+len(p.behind) == 0 {
			dst = p.coding.AppendNumbers(dst, parse)
			continue
		}
		for code := range p.n {
			v.room = p.append(v.room[:0], code)
			dst = append(dst, parse(v.room))
		}
	}
	return dst
}

// Table returns the templates of the open block, nil for one of version 1.
func (d *Decoder) Table() []TemplateRows {
	if d.decoding != &d.version2 {
		return nil
	}
	return d.version2.table
}

// Fields reads the fields of all rows of the open block, one of version 2. plans has the
// plan of each template of Table, nil for those whose rows are not to be known.
func (d *Decoder) Fields(to *FieldRows, plans []*FieldPlan, fields int) error {
	if d.decoding != &d.version2 {
		return errNotOpen
	}
	return d.version2.fields(to, plans, fields)
}
