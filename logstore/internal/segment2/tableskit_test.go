package segment2

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/template"
)

// tabledBlock returns what begins a block of version 2 with a table, and rest behind it:
// enough for what does not decode it.
func tabledBlock(table []block.TemplateRows, rest []byte) []byte {
	var stored []byte
	rows, last := uint32(0), int64(0)
	for _, one := range table {
		stored = binary.AppendVarint(stored, int64(one.ID)-last)
		stored = binary.AppendUvarint(stored, uint64(one.Rows))
		rows, last = rows+one.Rows, int64(one.ID)
	}
	p := []byte{2, 0, 0, 0}
	for _, v := range []uint32{rows, uint32(len(rest)), uint32(len(rest)), uint32(len(table)), checksum(rest), uint32(len(stored)), checksum(stored), 0, 0, 0, 0, 0} {
		p = binary.LittleEndian.AppendUint32(p, v)
	}
	p = binary.LittleEndian.AppendUint32(p, checksum(p))
	return append(append(p, stored...), rest...)
}

// A tabledRows is what a block with a table has.
type tabledRows struct {
	templates []string // keys, in the order of the table
	rows      []uint32
	rest      string
}

// A tabledSegment is a segment of such blocks, and some of CodecLines.
type tabledSegment struct {
	mergeable
	blocks []tabledRows // no templates: of CodecLines
}

// someTemplates makes a dictionary of n templates, whose numbers are shuffled; each has
// size bytes and one slot.
func someTemplates(r *rand.Rand, n, size int) *template.Dictionary {
	d := new(template.Dictionary)
	for _, i := range r.Perm(n) {
		text := fmt.Sprintf("template %d ", i)
		if _, ok := d.Add(template.New([]byte(text+strings.Repeat("x", max(0, size-len(text)))), nil)); !ok {
			panic("the dictionary is full")
		}
	}
	return d
}

// packTabled makes a segment of a stream for each block, of which every fifth is of
// CodecLines. A block has up to most templates of the dictionary that is its.
func packTabled(t testing.TB, r *rand.Rand, info Info, blocks, most int, dictionaries ...*template.Dictionary) *tabledSegment {
	t.Helper()
	s := &tabledSegment{}
	var out bytes.Buffer
	w := newWriter(&out, info, 0x0123456789abcdef)
	var labels []string
	for i := range blocks {
		labels = append(labels, labelsOf("app", fmt.Sprintf("%05d", i)))
	}
	w.AddStreams("", slices.Values(labels))
	for i := range blocks {
		one := tabledRows{rest: fmt.Sprintf("block %d %d", info.Upto, i)}
		b := EncodedBlock{Codec: CodecLines, Block: []byte(one.rest), Runs: Runs{{Ordinal: uint32(i), MaxTime: 9, Raw: 5, Rows: 1}}}
		if i%5 > 0 {
			d := dictionaries[i%len(dictionaries)]
			var table []block.TemplateRows
			b.Runs[0].Rows = 0
			for _, id := range r.Perm(d.Len())[:1+r.IntN(min(most, d.Len()))] {
				rows := 1 + r.Uint32N(300)
				table = append(table, block.TemplateRows{ID: uint32(id), Rows: rows})
				one.templates, one.rows = append(one.templates, d.At(uint32(id)).Key()), append(one.rows, rows)
				b.Runs[0].Rows += rows
			}
			b.Codec, b.Templates, b.Block = CodecColumns, d, tabledBlock(table, []byte(one.rest))
		}
		b.IDs = make([]ID, b.Runs[0].Rows)
		s.blocks = append(s.blocks, one)
		w.AddBlock(b)
	}
	for range blocks {
		w.AddFilter([]byte("filter"))
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	s.mergeable = mergeable2(t, out.Bytes(), nil)
	return s
}

// withoutTable returns what a block has behind its table, or a block that has none.
func withoutTable(p []byte) string {
	if p[0] != 2 {
		return string(p)
	}
	return string(p[56+binary.LittleEndian.Uint32(p[24:]):])
}

// tableRows describes a block by its table, with the templates of a dictionary.
func tableRows(p []byte, codec uint16, d *template.Dictionary) (tabledRows, error) {
	if codec == CodecLines {
		return tabledRows{rest: string(p)}, nil
	}
	table, err := block.Table(nil, p)
	if err != nil {
		return tabledRows{}, err
	}
	one := tabledRows{rest: withoutTable(p)}
	for _, e := range table {
		if d == nil || int(e.ID) >= d.Len() {
			return tabledRows{}, fmt.Errorf("no template %d", e.ID)
		}
		one.templates, one.rows = append(one.templates, d.At(e.ID).Key()), append(one.rows, e.Rows)
	}
	return one, nil
}

func (a tabledRows) equal(b tabledRows) bool {
	return a.rest == b.rest && slices.Equal(a.templates, b.templates) && slices.Equal(a.rows, b.rows)
}

// tabled reads all blocks of a segment by the index, and the errors that are no
// damage which was rebuilt. Of a block that cannot be read it has none.
func tabled(t testing.TB, x Index) (list []tabledRows, errs []error) {
	t.Helper()
	ctx := t.Context()
	zones, err := x.Zones(ctx)
	errs = append(errs, UnlessRebuilt(err))
	var f Frame
	for i := range zones {
		g, err := x.Group(ctx, i)
		errs = append(errs, UnlessRebuilt(err))
		if g == nil {
			continue
		}
		tables, err := x.Tables(ctx, i)
		errs = append(errs, UnlessRebuilt(err))
		for n := g.First; n < g.First+len(g.Blocks); n++ {
			err := UnlessRebuilt(x.ReadFrame(ctx, &f, g, n))
			var d *template.Dictionary
			if err == nil {
				d, err = x.Dictionary(ctx, f.Dictionary)
				err = UnlessRebuilt(err)
			}
			var one tabledRows
			if err == nil {
				one, err = tableRows(f.Block, f.Codec, d)
			}
			if errs = append(errs, err); err != nil {
				continue
			}
			list = append(list, one)
			if table := tables.Of(n); tables != nil && (f.Codec == CodecColumns) != (table != nil) {
				t.Errorf("block %d of codec %d has the table %v", n, f.Codec, table)
			} else if table != nil && !slices.Equal(table, must(block.Table(nil, f.Block))) {
				t.Errorf("block %d: its table is not that of the index", n)
			}
		}
	}
	return list, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

func sameTabled(t testing.TB, got, want []tabledRows) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d blocks; want %d", len(got), len(want))
	}
	for i := range want {
		if !got[i].equal(want[i]) {
			t.Fatalf("block %d is %.200v; want %.200v", i, got[i], want[i])
		}
	}
}
