package block

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
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

// Columns whose texts are much longer than lines may be take no more memory than they are read
// with.
func TestLongTexts(t *testing.T) {
	const columns, count, size = 200, 1024, 1000
	packed := []byte{byte(column.Dictionary), 0x80, 0x08, 0, 0, byte(column.Constant)}
	packed = binary.AppendUvarint(packed, size)
	h := handmade{table: []TemplateRows{{Rows: count}}, slots: [][]uint32{nil}, rows: make([]byte, count)}
	for i := range columns {
		h.slots[0] = append(h.slots[0], uint32(i))
		h.columns = append(h.columns, rawColumn{string(packed), strings.Repeat("x", size)})
	}
	var d Decoder
	if err := d.Open(h.append(t), slotsOnly(t, columns)); err != nil {
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
// others by their chunks: its literals are kept once.
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
	if err := d.Open(h.append(t), &dictionary); err != nil {
		t.Fatal(err)
	}
	if err := d.Lines(); err == nil {
		t.Errorf("lines of %d bytes are made", times*size)
	}
	if n := cap(d.version2.lines2.literals); n > 3*size {
		t.Errorf("the literals of one template take %d bytes", n)
	}
}

// What a block with a template that is in its table twice tells is the same.
func TestSameTemplates(t *testing.T) {
	e := Encoder{Miner: template.NewMiner()}
	rows := serviceRows(200)
	p, dictionary := encode2(t, &e, rows)
	p = split(t, p)
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
func split(t *testing.T, p []byte) []byte {
	t.Helper()
	p = expand(t, p)
	table, err := Table(nil, p)
	var h header2
	if err == nil {
		err = h.parse(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	rest := p[header2Size+h.table:]
	head, sections := rest[:h.headStored], rest[h.headStored:]
	var parsed head2
	if err := parsed.parse(head, h.rows, table); err != nil {
		t.Fatal(err)
	}
	var stored [][]byte
	for _, s := range parsed.sections {
		stored, sections = append(stored, sections[:s.stored]), sections[s.stored:]
	}
	var z decompressor
	of := stored[section2Rows]
	if parsed.sections[section2Rows].compressed {
		if of, err = z.decompress(nil, of, h.rows); err != nil {
			t.Fatal(err)
		}
	}
	of = bytes.Clone(of)
	of[bytes.LastIndexByte(of, 0)] = byte(len(table))
	stored[section2Rows] = of
	table[0].Rows--
	table = append(table, TemplateRows{ID: table[0].ID, Rows: 1})
	parsed.slots = append(parsed.slots, parsed.slots[:parsed.first[1]]...)
	parsed.first = append(parsed.first, uint32(len(parsed.slots)))
	parsed.sections[section2Rows] = section{raw: uint32(len(of)), stored: uint32(len(of))}
	rawTable, rawHead := appendTable(nil, table), parsed.append(nil)
	h = header2{rows: h.rows, templates: len(table), table: uint32(len(rawTable)), headStored: uint32(len(rawHead)), headRaw: uint32(len(rawHead))}
	out := make([]byte, header2Size)
	h.put(out)
	out = slices.Concat(out, rawTable, rawHead, slices.Concat(stored...))
	reseal2(out)
	return out
}
