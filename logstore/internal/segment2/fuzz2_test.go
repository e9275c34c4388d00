package segment2

import (
	"bytes"
	"slices"
	"testing"
)

// resum gives the sections, the section table and the footer of p, whose
// layout is that of the intact segment, the checksums that they need.
func resum(t testing.TB, p, intact []byte) {
	t.Helper()
	f, _, _ := parseFooter(intact[len(intact)-footerSize:])
	sections, err := parseSections(intact[f.table:][:f.tableBytes], f.table)
	if err != nil {
		t.Fatal(err)
	}
	var table []byte
	for _, s := range sections {
		off, n := s.off, s.bytes
		if s.flags&flagParts != 0 {
			off, n = s.partTable()
			parts, err := s.parseParts(intact[off:][:n])
			if err != nil {
				t.Fatal(err)
			}
			var list []byte
			for _, e := range parts {
				e.sum = checksum(p[e.off:][:e.bytes])
				list = e.append(list)
			}
			copy(p[off:], list)
		}
		if s.kind != TypeGroups && s.kind != TypeFilters {
			s.sum = checksum(p[off:][:n])
		}
		table = s.append(table)
	}
	copy(p[f.table:], table)
	f.tableSum = checksum(table)
	copy(p[len(p)-footerSize:], f.append(nil))
}

// FuzzIndex2 changes sections, with checksums that match: nothing panics, and
// all errors are of damage.
func FuzzIndex2(f *testing.F) {
	k := specimen(f)
	foot, _, _ := parseFooter(k.p[len(k.p)-footerSize:])
	sections, err := parseSections(k.p[foot.table:][:foot.tableBytes], foot.table)
	if err != nil {
		f.Fatal(err)
	}
	first := sections[0].off
	for _, s := range sections {
		f.Add(uint32(s.off-first), []byte{0xff, 0xff, 0xff})
		f.Add(uint32(s.off-first), bytes.Repeat([]byte{0x80}, 9))
		f.Add(uint32(s.off+s.bytes/2-first), []byte{1})
	}
	f.Fuzz(func(t *testing.T, off uint32, by []byte) {
		p := slices.Clone(k.p)
		copy(p[first+int64(off)%(foot.table-first):foot.table], by)
		resum(t, p, k.p)
		x, err := openBytes(p, off%2 == 0, mapCache{})
		if err != nil {
			if !isCorrupt(err) && !isVersion(err) {
				t.Fatal(err)
			}
			return
		}
		if err := x.card.Verify(t.Context(), x.src, nil); err != nil && !isCorrupt(err) && !isVersion(err) {
			t.Fatal(err)
		}
		_, errs := readAll(t, x)
		for i := range k.streams {
			key := k.streams[i]
			_, _, err := x.Find(t.Context(), key.tenant, key.labels)
			errs = append(errs, err)
			for name, value := range allLabels(key.labels) {
				c := []Condition{{Name: name, Values: []string{value}}}
				x.MaySelect(key.tenant, c)
				_, err := x.Select(t.Context(), key.tenant, c)
				errs = append(errs, err)
			}
		}
		for part := 0; part*PartStreams < x.Info().Streams; part++ {
			_, err := x.Streams(t.Context(), part)
			errs = append(errs, err)
		}
		for _, err := range errs {
			if err != nil && !isCorrupt(err) {
				t.Fatal(err)
			}
		}
	})
}
