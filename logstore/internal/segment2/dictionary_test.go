package segment2

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/template"
)

// check compares a segment with its blocks, in any order.
func (s *tabledSegment) check(t testing.TB) {
	t.Helper()
	got, errs := tabled(t, s.index)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	sameTabled(t, byRest(got), byRest(s.blocks))
}

func byRest(list []tabledRows) []tabledRows {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b tabledRows) int { return bytes.Compare([]byte(a.rest), []byte(b.rest)) })
	return list
}

// dictionariesOf returns how many a segment has, each twice.
func (s *tabledSegment) dictionariesOf(t testing.TB) int {
	t.Helper()
	var n [typeEnd]int
	for _, one := range s.MergeSource.(mergeSource2).sections {
		if n[one.kind]++; one.kind == TypeDictionary || one.kind == TypeDictionaryFrame {
			if one.flags != FlagNeeded || one.items == 0 {
				t.Errorf("%v %d has the flags %d and %d items", one.kind, one.instance, one.flags, one.items)
			}
		}
	}
	if n[TypeDictionary] != n[TypeDictionaryFrame] || min(n[TypeDictionary], 1) != n[TypeTables] {
		t.Errorf("%d dictionaries, %d copies, and %d sections of tables", n[TypeDictionary], n[TypeDictionaryFrame], n[TypeTables])
	}
	return n[TypeDictionary]
}

// A segment has the templates of its blocks, and no others, whatever their numbers were.
func TestDictionary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 16))
	for _, c := range []struct{ blocks, most, templates int }{{1, 1, 1}, {9, 4, 10}, {700, 30, 400}} {
		s := packTabled(t, r, Info{Upto: 1}, c.blocks, c.most, someTemplates(r, c.templates, 0), someTemplates(r, c.templates/2+1, 0))
		s.check(t)
		if n := s.dictionariesOf(t); n != min(1, c.blocks-1) {
			t.Errorf("%d dictionaries", n)
		}
		used := map[string]bool{}
		for _, b := range s.blocks {
			for _, key := range b.templates {
				used[key] = true
			}
		}
		if d, err := s.index.Dictionary(t.Context(), 1); c.blocks > 1 && (err != nil || d.Len() != len(used)) {
			t.Errorf("%d templates are used; the dictionary: %v", len(used), err)
		}
		if d, err := s.index.Dictionary(t.Context(), 0); d != nil || err != nil {
			t.Errorf("of a block without a dictionary %v, %v", d, err)
		}
		if err := s.MergeSource.(mergeSource2).VerifyIndex(t.Context(), memory{p: s.p}); err != nil {
			t.Error(err)
		}
		found, lost, err := Scan(t.Context(), memory{p: s.p}, int64(len(s.p)), Info{})
		if err != nil || len(lost) > 0 {
			t.Fatal(err, lost)
		}
		checkScanned(t, s, found, c.blocks)
	}
}

// checkScanned compares a segment that was scanned with its blocks.
func checkScanned(t testing.TB, s *tabledSegment, found *Scanned, blocks int) {
	t.Helper()
	var f Frame
	var got []tabledRows
	for i := range found.Info().Blocks {
		if err := found.ReadFrame(t.Context(), &f, i); err != nil {
			t.Fatal(err)
		}
		d, err := found.Dictionary(t.Context(), f.Dictionary)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, must(tableRows(f.Block, f.Codec, d)))
	}
	sameTabled(t, got, s.blocks[:blocks])
}

// When a dictionary is full, the next one begins, in a Writer and in a merge, which
// copies blocks and renumbers their templates.
func TestDictionaryOverflow(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 16))
	large := func(n int) *template.Dictionary { return someTemplates(r, n, 60<<10) }
	first := packTabled(t, r, Info{Upto: 1}, 9, 50, large(60), someTemplates(r, 50, 60<<10+1))
	first.check(t)
	if n := first.dictionariesOf(t); n < 2 {
		t.Fatalf("%d dictionaries; want 2 or more", n)
	}
	other := packTabled(t, r, Info{After: 1, Upto: 2}, 9, 50, someTemplates(r, 60, 60<<10-1), large(5))
	m := mergeTabled(t, first, other)
	if n := m.dictionariesOf(t); n < 3 {
		t.Errorf("%d dictionaries; want 3 or more", n)
	}
	// Once more, of one that has several.
	m = mergeTabled(t, m, packTabled(t, r, Info{After: 2, Upto: 3}, 5, 3, large(5)))
	m.check(t)
}

// mergeTabled merges segments, and checks what comes of it.
func mergeTabled(t testing.TB, sources ...*tabledSegment) *tabledSegment {
	t.Helper()
	var list []mergeable
	m := &tabledSegment{}
	for _, s := range sources {
		list = append(list, s.mergeable)
		m.blocks = append(m.blocks, s.blocks...)
	}
	p, _, err := tryMerge(t.Context(), list, MergeOptions{BlockRaw: 1, Memory: func(int64) {}})
	if err != nil {
		t.Fatal(err)
	}
	m.mergeable = mergeable2(t, p, nil)
	m.check(t)
	return m
}

// Templates that several sources have are there once.
func TestMergeOfDictionaries(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 16))
	var sources []*tabledSegment
	for i := range 5 {
		sources = append(sources, packTabled(t, r, Info{After: uint64(i), Upto: uint64(i) + 1}, 40, 30, someTemplates(r, 100, 0), someTemplates(r, 50+i*20, 0)))
	}
	m := mergeTabled(t, mergeTabled(t, sources[:2]...), mergeTabled(t, sources[2:]...))
	if n := m.dictionariesOf(t); n != 1 {
		t.Errorf("%d dictionaries", n)
	}
	if d := must(m.index.Dictionary(t.Context(), 1)); d.Len() > 130 {
		t.Errorf("%d templates; want at most 130", d.Len())
	}
}

// A block whose table the Writer cannot renumber is refused.
func TestWriterRefusesTables(t *testing.T) {
	d := someTemplates(rand.New(rand.NewPCG(4, 16)), 3, 0)
	for name, b := range map[string]EncodedBlock{
		"no dictionary":       {Block: tabledBlock([]block.TemplateRows{{ID: 0, Rows: 1}}, nil)},
		"an unknown template": {Block: tabledBlock([]block.TemplateRows{{ID: 3, Rows: 1}}, nil), Templates: d},
		"no block":            {Block: []byte("\x00block"), Templates: d},
		"too short":           {Block: tabledBlock([]block.TemplateRows{{ID: 1, Rows: 1}}, nil)[:56], Templates: d},
		"a damaged table":     {Block: damagedAt(tabledBlock([]block.TemplateRows{{ID: 1, Rows: 1}}, nil), 57), Templates: d},
	} {
		w := NewWriter(new(bytes.Buffer), Info{})
		w.AddStreams("", slices.Values([]string{labelsOf("a", "b")}))
		b.Codec, b.Runs = CodecColumns, Runs{{Rows: 1}}
		if err := w.AddBlock(b); !errors.Is(err, block.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A block stays as it was encoded while its encoder goes on, as sealing has it: the writer
// is a block behind.
func TestEncodedBlockStays(t *testing.T) {
	e := newColumnsEncoder()
	encode := func(form string) (b EncodedBlock, lines []string) {
		e.Reset(true)
		raw := int64(0)
		for i := range 200 {
			lines = append(lines, fmt.Sprintf(form, i))
			e.Add(int64(i), []byte(lines[i]), nil)
			raw += int64(len(lines[i]))
		}
		if err := e.Encode(&b); err != nil {
			t.Fatal(err)
		}
		b.Runs = Runs{{Rows: 200, Raw: raw, MaxTime: 199}}
		return b, lines
	}
	b, lines := encode("GET /orders/%d took long")
	encode("user %d has logged in from a far place, and out again")
	var out bytes.Buffer
	w := NewWriter(&out, Info{Upto: 1})
	w.AddStreams("", slices.Values([]string{labelsOf("a", "b")}))
	if err := errors.Join(w.AddBlock(b), w.AddFilter(nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	x, err := openBytes(out.Bytes(), false, mapCache{})
	if err != nil {
		t.Fatal(err)
	}
	var f Frame
	g := must(x.Group(t.Context(), 0))
	if err := x.ReadFrame(t.Context(), &f, g, 0); err != nil {
		t.Fatal(err)
	}
	var d block.Decoder
	if _, err := d.Decode(f.Block, must(x.Dictionary(t.Context(), f.Dictionary))); err != nil {
		t.Fatal(err)
	}
	for i, want := range lines {
		if got := string(d.Line(i)); got != want {
			t.Fatalf("line %d: %q; want %q", i, got, want)
		}
	}
}

func damagedAt(p []byte, at int) []byte {
	p = slices.Clone(p)
	p[at] ^= 1 << (at % 8)
	return p
}

// Each flipped bit of a dictionary, of its copy, of the tables and of blocks loses one
// block at most, and is told.
func TestDictionaryDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 16))
	s := packTabled(t, r, Info{Upto: 1, Log: [16]byte{1}}, 12, 5, someTemplates(r, 20, 40))
	c := s.MergeSource.(mergeSource2).Card
	frames, groups := c.section(TypeFilters).off, c.section(TypeGroups)
	for at := int64(0); at < int64(len(s.p)); at++ {
		if at >= groups.off && at < groups.off+groups.bytes {
			continue // they are rebuilt from blocks that can be decoded; see TestDamage2
		}
		p := damagedAt(s.p, int(at))
		x, err := openBytes(p, at%2 == 0, mapCache{})
		if err != nil {
			if !isCorrupt(err) {
				t.Fatalf("byte %d: %v", at, err)
			}
		} else {
			got, errs := tabled(t, x)
			if len(got) < len(s.blocks)-1 || len(got) < len(s.blocks) && len(errs) == 0 {
				t.Fatalf("byte %d: %d of %d blocks, %v", at, len(got), len(s.blocks), errs)
			}
			checkSome(t, at, got, s.blocks)
		}
		if err == nil && at > frames {
			continue // frames are intact
		}
		found, lost, err := Scan(t.Context(), memory{p: p}, int64(len(p)), Info{})
		if err != nil {
			t.Fatalf("byte %d: Scan: %v", at, err)
		}
		got, errs := s.scanTabled(t, found)
		if n := len(s.blocks); len(got) < n-1 || len(got) < n && len(lost)+errs == 0 {
			t.Fatalf("byte %d: Scan found %d of %d blocks; lost %v", at, len(got), n, lost)
		}
		checkSome(t, at, got, s.blocks)
	}
}

// scanTabled reads the blocks that were found, and counts the errors.
func (s *tabledSegment) scanTabled(t testing.TB, found *Scanned) (list []tabledRows, errs int) {
	var f Frame
	for i := range found.Info().Blocks {
		if found.ReadFrame(t.Context(), &f, i) != nil {
			errs++
			continue
		}
		d, err := found.Dictionary(t.Context(), f.Dictionary)
		if err != nil {
			if !isCorrupt(err) {
				t.Fatal(err)
			}
			errs++
			continue
		}
		list = append(list, must(tableRows(f.Block, f.Codec, d)))
	}
	return list, errs
}

// checkSome checks that all blocks were written, and are in order.
func checkSome(t testing.TB, at int64, got, want []tabledRows) {
	t.Helper()
	for _, one := range got {
		i := slices.IndexFunc(want, one.equal)
		if i < 0 {
			t.Fatalf("byte %d: %.200v was not written", at, one)
		}
		want = want[i+1:]
	}
}

// A dictionary of which the index has one copy only is told.
func TestDictionaryOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 17))
	s := packTabled(t, r, Info{Upto: 1}, 12, 5, someTemplates(r, 20, 0))
	for _, kind := range []Type{TypeDictionary, TypeDictionaryFrame} {
		card := *s.MergeSource.(mergeSource2).Card
		card.sections = slices.DeleteFunc(slices.Clone(card.sections), func(s section) bool { return s.kind == kind })
		if err := card.VerifyIndex(t.Context(), memory{p: s.p}); !isCorrupt(err) || !strings.Contains(err.Error(), "is not") {
			t.Errorf("without %s: %v", sectionName(kind), err)
		}
	}
}

// A dictionary that is damaged in one place comes from the other, and the damage is told;
// if both are, the blocks that need it are lost, and no others.
func TestDictionaryDamagedTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 16))
	s := packTabled(t, r, Info{Upto: 1}, 12, 5, someTemplates(r, 20, 0))
	c := s.MergeSource.(mergeSource2).Card
	want := must(s.index.Dictionary(t.Context(), 1)).Append(nil)
	one, other := c.section(TypeDictionary), c.section(TypeDictionaryFrame)
	for _, off := range []int64{one.off, other.off + dictionaryHeaderSize} {
		p := damagedAt(s.p, int(off))
		x := must(openBytes(p, false, nil))
		d, err := x.Dictionary(t.Context(), 1)
		if d == nil || !bytes.Equal(d.Append(nil), want) || UnlessRebuilt(err) != nil || (err != nil) != (off == one.off) {
			t.Errorf("damaged at %d: %v, %v", off, d, err)
		}
		if err := c.VerifyIndex(t.Context(), memory{p: p}); !isCorrupt(err) {
			t.Errorf("damaged at %d: VerifyIndex: %v", off, err)
		}
		m, info, err := tryMerge(t.Context(), []mergeable{mergeable2(t, p, nil)}, MergeOptions{BlockRaw: 1})
		if err != nil || info.Blocks != len(s.blocks) {
			t.Fatalf("damaged at %d: merge: %v", off, err)
		}
		(&tabledSegment{mergeable2(t, m, nil), s.blocks}).check(t)
	}
	p := damagedAt(damagedAt(s.p, int(one.off)), int(other.off))
	x := must(openBytes(p, false, nil))
	if d, err := x.Dictionary(t.Context(), 1); d != nil || !isCorrupt(err) || UnlessRebuilt(err) == nil {
		t.Errorf("both damaged: %v, %v", d, err)
	}
	got, errs := tabled(t, x)
	if len(got) != 3 || len(errs) != 9 {
		t.Errorf("%d blocks need no dictionary, and %d one: %v", len(got), len(errs), errs)
	}
	if _, _, err := tryMerge(t.Context(), []mergeable{mergeable2(t, p, nil)}, MergeOptions{BlockRaw: 1}); !isCorrupt(err) {
		t.Errorf("both damaged: merge: %v", err)
	}
	if d, err := s.index.Dictionary(t.Context(), 2); d != nil || !isCorrupt(err) {
		t.Errorf("a dictionary that is not there: %v, %v", d, err)
	}
}

// The examples of the package comment.
func TestTemplatesExample(t *testing.T) {
	var d template.Dictionary
	d.Add(template.New([]byte("GET "), []byte(" took "), nil))
	d.Add(template.Plain)
	w := templatesWriter{latest: &d}
	if err := w.next(new(zipper)); err != nil {
		t.Fatal(err)
	}
	var tables Tables
	tables.add(nil)
	tables.add([]block.TemplateRows{{ID: 3, Rows: 5}, {ID: 1, Rows: 9}})
	for _, p := range [][]byte{appendDictionaryFrame(nil, 0x0123456789abcdef, 0xcd, 0, w.full[0]), tables.append(nil)} {
		if doc, want := docBytes(t), fmt.Sprintf("%x", p); !strings.Contains(doc, want) {
			t.Errorf("the package comment does not have %s", want)
		}
	}
}

// The tables are read from blocks if their section is damaged.
func TestTablesDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 16))
	s := packTabled(t, r, Info{Upto: 1}, 300, 50, someTemplates(r, 99, 0))
	c := s.MergeSource.(mergeSource2).Card
	p := damagedAt(s.p, int(c.section(TypeTables).off))
	x := must(openBytes(p, true, nil))
	got, err := x.Tables(t.Context(), 0)
	if bad, ok := errors.AsType[*CorruptError](err); !ok || !bad.Rebuilt {
		t.Fatal(err)
	}
	want := must(s.index.Tables(t.Context(), 0))
	g := must(s.index.Group(t.Context(), 0))
	for n := range g.Blocks {
		if !slices.Equal(got.Of(n), want.Of(n)) || (want.Of(n) == nil) != (g.Blocks[n].Codec == CodecLines) {
			t.Fatalf("block %d: %v; want %v", n, got.Of(n), want.Of(n))
		}
	}
	if _, errs := tabled(t, x); len(errs) > 0 {
		t.Error(errs)
	}
	told := 0
	_ = c.Verify(t.Context(), memory{p: p}, func(error) { told++ }) // which ends at the blocks of this kit
	if told != 1 {
		t.Errorf("Verify told it %d times", told)
	}
	// Of a block that is damaged too, nothing is known.
	b := g.Blocks[7]
	p[b.Offset+b.Bytes-int64(b.size)+40] ^= 4
	got, err = must(openBytes(p, false, nil)).Tables(t.Context(), 0)
	if UnlessRebuilt(err) != nil || got.Of(7) != nil || !slices.Equal(got.Of(8), want.Of(8)) {
		t.Errorf("%v, %v, %v", got.Of(7), got.Of(8), err)
	}
}

// With a group that has more entries than a part may have, nothing is known.
func TestTablesTooLarge(t *testing.T) {
	table := make([]block.TemplateRows, maxTables/4+1)
	for i := range table {
		table[i] = block.TemplateRows{ID: uint32(i), Rows: 1}
	}
	g := &Group{First: 5}
	var w Tables
	for range 4 {
		w.add(table)
		g.Blocks = append(g.Blocks, Block{Codec: CodecColumns, Rows: uint32(len(table))})
	}
	p := w.append(nil)
	got, err := parseTables(p, g)
	if err != nil || len(p) != 1 || got.Of(6) != nil {
		t.Errorf("%d bytes, %v", len(p), err)
	}
	w.reset()
	g.Blocks = g.Blocks[:3]
	for range 3 {
		w.add(table)
	}
	p = w.append(nil)
	if got, err = parseTables(p, g); err != nil || !slices.Equal(got.Of(7), table) || len(p) > MaxRead {
		t.Errorf("%d bytes, %v", len(p), err)
	}
	if (*Tables)(nil).Of(3) != nil {
		t.Error("of nothing, something is known")
	}
}

func FuzzTables(f *testing.F) {
	for _, list := range [][]block.TemplateRows{{}, {{ID: 5, Rows: 9}}, {{ID: 5, Rows: 4}, {ID: 1, Rows: 3}, {ID: 1 << 31, Rows: 2}}} {
		var w Tables
		w.add(nil)
		w.add(list)
		f.Add(w.append(nil), uint32(9))
	}
	f.Add([]byte{tablesUnknown}, uint32(9))
	f.Fuzz(func(t *testing.T, p []byte, rows uint32) {
		g := &Group{First: 3, Blocks: []Block{{Codec: CodecLines, Rows: 7}, {Codec: CodecColumns, Rows: rows}}}
		got, err := parseTables(p, g)
		if err != nil {
			return
		}
		if got.Of(3) != nil {
			t.Fatal("a block of lines has a table")
		}
		all := uint32(0)
		for _, one := range got.Of(4) {
			all += one.Rows
		}
		if len(got.ends) > 0 && all != rows {
			t.Fatalf("%d rows; want %d", all, rows)
		}
	})
}

// FuzzDictionaryFrame changes a frame, with checksums that match.
func FuzzDictionaryFrame(f *testing.F) {
	d := someTemplates(rand.New(rand.NewPCG(8, 16)), 5, 0).Append(nil)
	head := dictionaryFrame{instance: 2, raw: uint32(len(d)), templates: 5, stored: uint32(len(d)), sum: checksum(d)}
	f.Add(append(head.append(nil, 77, 99), d...)[8:])
	var z zipper
	d = someTemplates(rand.New(rand.NewPCG(9, 16)), 50, 0).Append(nil)
	stored := must(z.append(nil, d))
	head = dictionaryFrame{raw: uint32(len(d)), templates: 50, stored: uint32(len(stored)), sum: checksum(stored)}
	f.Add(append(head.append(nil, 77, 99), stored...)[8:])
	f.Fuzz(func(t *testing.T, rest []byte) {
		if len(rest) < dictionaryHeaderSize-8 {
			return
		}
		p := append([]byte("....SLOT"), rest...)
		sum := checksum(p[dictionaryHeaderSize:])
		for i := range 4 {
			p[28+i] = byte(sum >> (8 * i))
		}
		sum = frameSum(77, 99, p[:dictionaryHeaderSize])
		for i := range 4 {
			p[i] = byte(sum >> (8 * i))
		}
		h, d, err := openDictionaryFrame(p, 77, 99)
		if err == nil && (d.Len() != int(h.templates) || h.size() != int64(len(p))) {
			t.Fatalf("%d templates, %+v", d.Len(), h)
		}
	})
}
