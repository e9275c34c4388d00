package block

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
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

// append returns the block, without times.
func (h handmade) append() []byte {
	all := blockParts{rows: len(h.rows), table: h.table, raw: make([][]byte, sections2)}
	if len(h.table) > 1<<8 {
		all.rows /= 2
	}
	all.raw[section2Rows] = h.rows
	for _, c := range h.columns {
		all.raw[section2Packed] = append(all.raw[section2Packed], c.packed...)
		all.raw[section2Texts] = append(all.raw[section2Texts], c.text...)
		all.head.columns = append(all.head.columns, columnEntry{packed: uint32(len(c.packed)), text: uint32(len(c.text))})
	}
	all.head.first = []uint32{0}
	for _, slots := range h.slots {
		all.head.slots = append(all.head.slots, slots...)
		all.head.first = append(all.head.first, uint32(len(all.head.slots)))
	}
	return all.append()
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
	const depth = 1 << 22
	deep := strings.Repeat("\x02\x01", depth) + "\x00\x01" + strings.Repeat("\x00\x00", depth)
	p := handmade{
		table: []TemplateRows{{Rows: 1}}, slots: [][]uint32{{0}}, rows: []byte{0}, columns: []rawColumn{{deep, "a"}},
	}.append()
	dictionary := slotsOnly(t, 1)
	var d Decoder
	if err := d.Open(p, dictionary); err != nil {
		t.Fatal(err)
	}
	rule := new(column.Rule)
	rule.Forbidden[1] = 1 << ('b' - 64)
	plan := slotFields(dictionary.At(0), 2, []*column.Rule{rule})
	if err := d.Fields(new(FieldRows), []*FieldPlan{plan}, 2); err == nil {
		t.Errorf("%d dictionaries within each other are read", depth)
	}
}

// Columns whose texts are much longer than lines may be take no more memory than they are read
// with.
func TestLongTexts(t *testing.T) {
	const columns, count, size = 200, 1024, 1000
	packed := binary.AppendUvarint([]byte{byte(column.Dictionary), 0x80, 0x08, byte(column.Constant)}, size)
	packed = append(packed, 0, 0) // which value each is
	h := handmade{table: []TemplateRows{{Rows: count}}, slots: [][]uint32{nil}, rows: make([]byte, count)}
	for i := range columns {
		h.slots[0] = append(h.slots[0], uint32(i))
		h.columns = append(h.columns, rawColumn{string(packed), strings.Repeat("x", size)})
	}
	var d Decoder
	if err := d.Open(h.append(), slotsOnly(t, columns)); err != nil {
		t.Fatal(err)
	}
	if err := d.Lines(); err == nil {
		t.Errorf("lines of %d bytes are made", columns*count*size)
	}
	if n := d.Weight(); n > 64<<20 {
		t.Errorf("%d bytes are taken", n)
	}
}

// A table may name one template many times, as it does if lines have it by their tokens and
// others by their chunks: its literals are no more bytes than lines.
func TestTemplateTwice(t *testing.T) {
	const times, size = 300, template.MaxLiteral
	var dictionary template.Dictionary
	if _, ok := dictionary.Add(template.New(bytes.Repeat([]byte("x"), size))); !ok {
		t.Fatal("the template does not fit")
	}
	h := handmade{slots: make([][]uint32, times)}
	for k := range times {
		h.table = append(h.table, TemplateRows{Rows: 1})
		h.rows = append(h.rows, byte(k))
	}
	for k := range times {
		h.rows = append(h.rows, byte(k>>8))
	}
	var d Decoder
	if err := d.Open(h.append(), &dictionary); err != nil {
		t.Fatal(err)
	}
	if err := d.Lines(); err == nil {
		t.Errorf("lines of %d bytes are made", times*size)
	}
	if n := cap(d.version2.lines2.literals); n > 2*MaxRaw {
		t.Errorf("the literals of one template take %d bytes of memory", n)
	}
}

// What a block with a template that is in its table twice tells is the same.
func TestSameTemplates(t *testing.T) {
	e := Encoder{Miner: template.NewMiner()}
	rows := serviceRows(200)
	p, dictionary := encode2(t, &e, rows)
	p = split(t, p, dictionary)
	var d Decoder
	got, err := decodeWith(&d, p, dictionary)
	if err == nil {
		err = same(got, rows)
	}
	if err == nil {
		err = d.Open(p, dictionary)
	}
	if err != nil {
		t.Fatal(err)
	}
	checkSearch(t, &d, dictionary, rows, "took", template.Bytes)
	checkFields(t, &d, dictionary, rows, rand.New(rand.NewPCG(1, 2)), new(FieldRows))
}

// split returns a block in whose table the first template is once more, for its last row.
func split(t *testing.T, p []byte, dictionary *template.Dictionary) []byte {
	t.Helper()
	all := takeApart(t, p, dictionary)
	of := bytes.Clone(all.raw[section2Rows])
	of[bytes.LastIndexByte(of, 0)] = byte(len(all.table))
	all.raw[section2Rows] = of
	all.table[0].Rows--
	all.table = append(all.table, TemplateRows{ID: all.table[0].ID, Rows: 1})
	all.head.slots = append(all.head.slots, all.head.slots[:all.head.first[1]]...)
	all.head.first = append(all.head.first, uint32(len(all.head.slots)))
	return all.append()
}

// A long constant that is in a line many times is no more memory than lines may have.
func TestLongConstants(t *testing.T) {
	const slots, size = template.MaxSlots, 1 << 20
	packed := binary.AppendUvarint([]byte{byte(column.Constant)}, size)
	h := handmade{table: []TemplateRows{{Rows: 1}}, slots: [][]uint32{make([]uint32, slots)}, rows: []byte{0},
		columns: []rawColumn{{string(packed), strings.Repeat("x", size)}}}
	var d Decoder
	if err := d.Open(h.append(), slotsOnly(t, slots)); err != nil {
		t.Fatal(err)
	}
	if err := d.Lines(); err == nil {
		t.Errorf("a line of %d bytes is made", slots*size)
	}
	if n := d.Weight(); n > 4*MaxRaw {
		t.Errorf("%d bytes are taken", n)
	}
}
