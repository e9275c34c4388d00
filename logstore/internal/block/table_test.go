package block

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// withTable returns what begins a block of version 2 with a table, and has a head of
// these bytes.
func withTable(table []TemplateRows, head []byte) []byte {
	h := header2{templates: len(table), headStored: uint32(len(head)), headRaw: uint32(len(head)), headSum: checksum(head)}
	for _, t := range table {
		h.rows += int(t.Rows)
	}
	p := appendTable(make([]byte, header2Size), table)
	h.table, h.tableSum = uint32(len(p)-header2Size), checksum(p[header2Size:])
	h.put(p)
	return append(p, head...)
}

func someTable(r *rand.Rand, n int) (table []TemplateRows) {
	for range n {
		table = append(table, TemplateRows{r.Uint32() >> r.IntN(32), 1 + uint32(r.IntN(200))})
	}
	return table
}

func TestHeader2(t *testing.T) {
	want := header2{
		rows: 7, compressed: true, headStored: 3, headRaw: 9, headSum: 0x01020304, templates: 2, table: 5, tableSum: 0x05060708,
		times: [section2Rows]section{{stored: 16, raw: 17, sum: 0x090a0b0c, compressed: true}, {stored: 18, raw: 18, sum: 0x0d0e0f10}},
	}
	var p [header2Size]byte
	want.put(p[:])
	if got := p[:header2SumAt]; !bytes.Equal(got, []byte{
		2, 1, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 4, 3, 2, 1, 5, 0, 0, 0, 8, 7, 6, 5,
		16, 0, 0, 0, 17, 0, 0, 0, 12, 11, 10, 9, 18, 0, 0, 0, 16, 15, 14, 13,
	}) {
		t.Errorf("% x", got)
	}
	var got header2
	if err := got.parse(p[:]); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for name, bad := range map[string]header2{
		"no rows":           {templates: 1, table: 2},
		"many rows":         {rows: MaxRows + 1, templates: 1, table: 2},
		"no templates":      {rows: 1},
		"more than rows":    {rows: 1, templates: 2, table: 4},
		"too many":          {rows: MaxRows, templates: maxTemplates + 1, table: 4 << 16},
		"a small table":     {rows: 9, templates: 2, table: 3},
		"a large table":     {rows: 9, templates: 2, table: 2*maxEntry + 1},
		"a head that grows": {rows: 9, templates: 2, table: 4, compressed: true, headStored: 3, headRaw: 3},
		"two sizes":         {rows: 9, templates: 2, table: 4, headStored: 3, headRaw: 4},
		"times that grow":   {rows: 9, templates: 2, table: 4, times: [section2Rows]section{{stored: 30, raw: 29}}},
		"many times":        {rows: 9, templates: 2, table: 4, times: [section2Rows]section{{stored: 1, raw: 102}}},
		"many time bits":    {rows: 9, templates: 2, table: 4, times: [section2Rows]section{1: {stored: 57}}},
	} {
		bad.put(p[:])
		if err := got.parse(p[:]); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for at := 1; at < 4; at++ {
		want.put(p[:])
		p[at] |= 0x80
		binary.LittleEndian.PutUint32(p[header2SumAt:], checksum(p[:header2SumAt]))
		if err := got.parse(p[:]); !errors.Is(err, ErrDamaged) {
			t.Errorf("an unknown bit in byte %d: %v", at, err)
		}
	}
}

func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 15))
	for n := 1; n < 300; n += 1 + n/3 {
		table, head := someTable(r, n), bytes.Repeat([]byte{7}, r.IntN(100))
		p := withTable(table, head)
		got, err := Table(nil, p)
		if err != nil || !slices.Equal(got, table) {
			t.Fatalf("%v, %v; want %v", got, err, table)
		}
		if len(p)-len(head) > TableBytes(n) {
			t.Errorf("%d templates take %d bytes; TableBytes returns %d", n, len(p)-len(head), TableBytes(n))
		}
		for _, size := range []int{0, 1, header2Size, len(p) - len(head) - 1} {
			if _, err := Table(nil, p[:size]); !errors.Is(err, ErrShort) {
				t.Errorf("%d of %d bytes: %v", size, len(p), err)
			}
		}
		if _, err := Table(nil, p[:len(p)-len(head)]); err != nil {
			t.Error(err)
		}
	}
}

func TestRemap(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 15))
	table, head := someTable(r, 99), []byte("a head, and sections")
	p := withTable(table, head)
	before := []byte("before")
	got, err := Remap(before, p, func(old uint32) uint32 { return math.MaxUint32 - old })
	if err != nil || !bytes.HasPrefix(got, before) {
		t.Fatal(err)
	}
	want := slices.Clone(table)
	for i := range want {
		want[i].ID = math.MaxUint32 - want[i].ID
	}
	if got = got[len(before):]; !bytes.Equal(got, withTable(want, head)) {
		t.Errorf("% x; want % x", got, withTable(want, head))
	}
	if again, err := Remap(nil, p, func(old uint32) uint32 { return old }); err != nil || !bytes.Equal(again, p) {
		t.Errorf("without a change % x, %v; want % x", again, err, p)
	}
	space := make([]byte, 0, len(p)+99)
	if n := testing.AllocsPerRun(20, func() {
		if _, err := Remap(space, p, func(old uint32) uint32 { return old + 1 }); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Each flipped bit of the header or of the table is found.
func TestTableDamaged(t *testing.T) {
	p := withTable(someTable(rand.New(rand.NewPCG(3, 15)), 9), nil)
	for at := range p {
		bad := slices.Clone(p)
		bad[at] ^= 1 << (at % 8)
		_, err := Table(nil, bad)
		if _, newer := errors.AsType[*VersionError](err); !errors.Is(err, ErrDamaged) && !(at == 0 && newer) {
			t.Errorf("byte %d: %v", at, err)
		}
		if got, err := Remap(nil, bad, func(old uint32) uint32 { return old }); err == nil || len(got) > 0 {
			t.Errorf("byte %d: %d bytes, %v", at, len(got), err)
		}
	}
	for name, table := range map[string][]byte{
		"below 0":           {1, 1},
		"above 32 bits":     {0xfe, 0xff, 0xff, 0xff, 0xff, 0x01, 1},
		"no rows":           {0, 0},
		"more rows":         {0, 2},
		"bytes behind":      {0, 1, 0},
		"a varint that end": {0, 0x80},
	} {
		h := header2{rows: 1, templates: 1, table: uint32(len(table)), tableSum: checksum(table)}
		p := make([]byte, header2Size)
		h.put(p)
		if _, err := Table(nil, append(p, table...)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var e Encoder
	e.Add(1, []byte("line"), nil)
	one, err := e.Append(nil)
	if _, bad := Table(nil, one); err != nil || bad == nil || errors.Is(bad, ErrDamaged) {
		t.Errorf("a block of version 1: %v, %v", bad, err)
	}
}

func FuzzTable(f *testing.F) {
	r := rand.New(rand.NewPCG(4, 15))
	for n := 1; n < 20; n += 6 {
		f.Add(withTable(someTable(r, n), []byte("head"))[4:])
	}
	f.Fuzz(func(t *testing.T, rest []byte) {
		// Checksums are made to match, so that what they cover is reached.
		p := append([]byte{version2, 0, 0, 0}, rest...)
		if len(p) >= header2Size {
			if n := binary.LittleEndian.Uint32(p[24:]); uint64(n) <= uint64(len(p)-header2Size) {
				binary.LittleEndian.PutUint32(p[28:], checksum(p[header2Size:][:n]))
			}
			binary.LittleEndian.PutUint32(p[header2SumAt:], checksum(p[:header2SumAt]))
		}
		table, err := Table(nil, p)
		again, bad := Remap(nil, p, func(old uint32) uint32 { return ^old })
		if err != nil || bad != nil {
			if errors.Is(err, ErrShort) {
				err = ErrDamaged
			}
			if !errors.Is(err, ErrDamaged) || !errors.Is(bad, ErrDamaged) || len(table)+len(again) > 0 {
				t.Fatalf("%v, %v", err, bad)
			}
			return
		}
		for i := range table {
			table[i].ID = ^table[i].ID
		}
		got, err := Table(nil, again)
		if err != nil || !slices.Equal(got, table) {
			t.Fatalf("%v, %v; want %v", got, err, table)
		}
		if tail := p[header2Size+binary.LittleEndian.Uint32(p[24:]):]; !bytes.HasSuffix(again, tail) {
			t.Fatal("the rest changed")
		}
	})
}
