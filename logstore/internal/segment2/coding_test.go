package segment2

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomBytes returns n bytes that do not compress.
func randomBytes(r *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

func TestZip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var z zipper
	for _, c := range []struct {
		name  string
		src   []byte
		least int // bytes stored
		most  int
	}{
		{"nothing", nil, 0, 0},
		{"short", []byte("aaaaaaaaaaaaaaaa"), 16, 16},
		{"equal bytes", bytes.Repeat([]byte{7}, 5000), 1, 50},
		{"random bytes", randomBytes(r, 5000), 5000, 5000},
		// It would take 90 bytes or so.
		{"more than may be allocated", make([]byte, 1<<20), 1 << 20, 1 << 20},
		{"more than is decompressed", bytes.Repeat([]byte("ab"), MaxRead/2+1), MaxRead + 2, MaxRead + 2},
	} {
		stored, err := z.append([]byte("x"), c.src)
		if err != nil || stored[0] != 'x' {
			t.Fatalf("%s: %v", c.name, err)
		}
		stored = stored[1:]
		if len(stored) < c.least || len(stored) > c.most {
			t.Errorf("%s: %d bytes stored; want %d to %d", c.name, len(stored), c.least, c.most)
		}
		if got, err := unzip(nil, stored, len(c.src)); err != nil || !bytes.Equal(got, c.src) {
			t.Errorf("%s: %d bytes, %v", c.name, len(got), err)
		}
		for _, raw := range []int{len(stored) - 1, len(c.src) + 1, 1 << 30} {
			if _, err := unzip(nil, stored, raw); raw != len(c.src) && !errors.Is(err, errForm) {
				t.Errorf("%s: as %d bytes: %v", c.name, raw, err)
			}
		}
	}
}

func FuzzUnzip(f *testing.F) {
	var z zipper
	stored, _ := z.append(nil, bytes.Repeat([]byte("word "), 100))
	f.Add(stored, 500)
	f.Fuzz(func(t *testing.T, p []byte, raw int) {
		if out, err := unzip(nil, p, raw); err == nil && (len(out) != raw || raw < len(p) || raw > max(len(p), maxUnzipped(len(p)))) {
			t.Fatalf("%d bytes of %d; want %d", len(out), len(p), raw)
		}
	})
}

func TestPrefixes(t *testing.T) {
	list := []string{"", "app", "apple", "apple", "b", "", "ba"}
	var w prefixWriter
	var p []byte
	for _, s := range list {
		p = w.append(p, []byte(s))
	}
	c := decoder{p: p}
	var r prefixReader
	for _, s := range list {
		if got := string(r.next(&c, 5)); got != s {
			t.Errorf("%q; want %q", got, s)
		}
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	c, r = decoder{p: p}, prefixReader{}
	for range 3 {
		r.next(&c, 4)
	}
	if !c.bad {
		t.Error("more bytes than the limit are taken")
	}
}

func TestSections(t *testing.T) {
	list := []section{
		{kind: TypeLabels, flags: flagParts, items: 3, off: 300, bytes: 50, raw: 20, sum: 4},
		{kind: 70, flags: FlagNeeded | FlagKept, off: 350, bytes: 0, raw: 90, sum: 5, instance: 6},
		{kind: TypeZones, off: 350, bytes: 104, raw: 104},
	}
	encode := func(list []section) (p []byte) {
		for _, s := range list {
			p = s.append(p)
		}
		return p
	}
	p := encode(list)
	got, err := parseSections(p, 454)
	if err != nil || !slices.Equal(got, list) || len(p) != 3*sectionSize {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range []struct {
		name   string
		change func(*section)
	}{
		{"a gap", func(s *section) { s.off++ }},
		{"an overlap", func(s *section) { s.off-- }},
		{"too long", func(s *section) { s.bytes++ }},
		{"negative", func(s *section) { s.bytes = -1 }},
		{"within the header", func(s *section) { s.off = headerSize - 1 }},
		{"a part table larger than the section", func(s *section) { s.flags, s.raw = flagParts, s.bytes+1 }},
	} {
		for i := range list {
			bad := slices.Clone(list)
			c.change(&bad[i])
			if _, err := parseSections(encode(bad), 454); !errors.Is(err, errForm) {
				t.Errorf("%s in section %d: %v", c.name, i, err)
			}
		}
	}
	if _, err := parseSections(p[:len(p)-1], 454); err == nil {
		t.Error("half of an entry is taken")
	}
}

func TestParts(t *testing.T) {
	var z zipper
	var table, file []byte
	raw := [][]byte{[]byte("directory"), bytes.Repeat([]byte("one "), 100), nil}
	const off = 1000
	for _, p := range raw {
		stored, err := z.append(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		table = part{bytes: len(stored), raw: len(p), sum: checksum(stored)}.append(table)
		file = append(file, stored...)
	}
	file = append(file, table...)
	s := section{flags: flagParts, off: off, bytes: int64(len(file)), raw: int64(len(table)), sum: checksum(table)}
	at, n := s.partTable()
	parts, err := s.parseParts(file[at-off:][:n])
	if err != nil || len(parts) != len(raw) {
		t.Fatal(parts, err)
	}
	for i, p := range parts {
		stored := file[p.off-off:][:p.bytes]
		if got, err := p.open(nil, stored); err != nil || !bytes.Equal(got, raw[i]) {
			t.Errorf("part %d: %q, %v", i, got, err)
		}
		if p.bytes > 0 {
			bad := bytes.Clone(stored)
			bad[0]++
			if _, err := p.open(nil, bad); err == nil {
				t.Errorf("part %d: the damage is not seen", i)
			}
		}
	}
	table[0]++
	if _, err := s.parseParts(table); err == nil {
		t.Error("the damage of the table is not seen")
	}
	s.sum = checksum(table)
	if _, err := s.parseParts(table); !errors.Is(err, errForm) {
		t.Errorf("parts that do not fill the section: %v", err)
	}
}

func FuzzSections(f *testing.F) {
	f.Add(section{kind: TypeLabels, flags: flagParts, items: 3, off: 300, bytes: 50, raw: 20, sum: 4}.append(nil), int64(350))
	f.Add(part{bytes: 7, raw: 9, sum: 1}.append(nil), int64(7))
	f.Fuzz(func(t *testing.T, p []byte, end int64) {
		if list, err := parseSections(p, end); err == nil {
			var again []byte
			for _, s := range list {
				again = s.append(again)
			}
			if !bytes.Equal(again, p) {
				t.Fatalf("%x, and was %x", again, p)
			}
		}
		s := section{flags: flagParts, off: 10, bytes: max(end, 0)&0xffff + int64(len(p)), raw: int64(len(p)), sum: checksum(p)}
		if parts, err := s.parseParts(p); err == nil {
			off := s.off
			for _, part := range parts {
				if part.off != off || part.bytes < 0 {
					t.Fatalf("%+v", parts)
				}
				off += int64(part.bytes)
			}
		}
	})
}
