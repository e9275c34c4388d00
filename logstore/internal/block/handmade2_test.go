package block

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/template"
)

// A handmade is a block of version 2 that no encoder writes.
type handmade struct {
	table   []TemplateRows
	slots   [][]uint32 // the columns of each template
	rows    []byte     // section2Rows
	columns []rawColumn
}

type rawColumn struct{ packed, text string }

// append returns the block, with checksums that match, and without times.
func (h handmade) append(t testing.TB) []byte {
	t.Helper()
	var e encoder2
	var packed, texts strings.Builder
	for _, c := range h.columns {
		packed.WriteString(c.packed)
		texts.WriteString(c.text)
		e.head.columns = append(e.head.columns, columnEntry{packed: uint32(len(c.packed)), text: uint32(len(c.text))})
	}
	e.head.first = []uint32{0}
	for _, slots := range h.slots {
		e.head.slots = append(e.head.slots, slots...)
		e.head.first = append(e.head.first, uint32(len(e.head.slots)))
	}
	e.table = h.table
	r := rows{}
	for _, one := range h.table {
		r.times = append(r.times, make([]int64, one.Rows)...)
	}
	for id, p := range [sections2]string{section2Rows: string(h.rows), section2Packed: packed.String(), section2Texts: texts.String()} {
		s := section{raw: uint32(len(p))}
		from := len(e.body)
		var err error
		if e.body, s.compressed, err = e.zip.append(e.body, []byte(p)); err != nil {
			t.Fatal(err, id)
		}
		if s.stored = uint32(len(e.body) - from); s.stored > 0 {
			s.sum = checksum(e.body[from:])
		}
		e.head.sections = append(e.head.sections, s)
	}
	p, err := e.frame(nil, &r, &e.zip)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// slotsOnly returns a dictionary of one template, with so many slots and blanks between them.
func slotsOnly(t testing.TB, slots int) *template.Dictionary {
	t.Helper()
	literals := make([][]byte, slots+1)
	for i := range literals[1:slots] {
		literals[i+1] = []byte(" ")
	}
	var d template.Dictionary
	if _, ok := d.Add(template.New(literals...)); !ok {
		t.Fatal("the template does not fit")
	}
	return &d
}

// A column of dictionaries within dictionaries is asked whether it keeps a rule.
func TestDeepColumn(t *testing.T) {
	deep := strings.Repeat("\x02\x01\x00\x00", 1<<22)
	p := handmade{
		table: []TemplateRows{{Rows: 1}}, slots: [][]uint32{{0}}, rows: []byte{0}, columns: []rawColumn{{deep + "\x00\x01", "a"}},
	}.append(t)
	dictionary := slotsOnly(t, 1)
	var d Decoder
	if err := d.Open(p, dictionary); err != nil {
		t.Fatal(err)
	}
	rule := new(column.Rule)
	rule.Forbidden[1] = 1 << ('b' - 64)
	plan := slotFields(dictionary.At(0), 2, []*column.Rule{rule})
	if err := d.Fields(new(FieldRows), []*FieldPlan{plan}, 2); err == nil {
		t.Errorf("%d dictionaries within each other are read", len(deep)/4)
	}
}
