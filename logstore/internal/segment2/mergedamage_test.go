package segment2

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// A source that is damaged anywhere either fails a merge, with its damage, or
// all rows are in the result.
func TestMergeOfDamage(t *testing.T) {
	k := specimen(t)
	other := packed1(t, someRows(rand.New(rand.NewPCG(4, 4)), 100, 30), Info{After: 100, Upto: 101}, 700, 8)
	want := joined([]mergeable{{rows: k.rows}, other})
	failed, merged := 0, 0
	for i, h := range harms {
		stride := 97
		if i > 0 {
			stride = 499
		}
		if os.Getenv("STELE_LONG") != "" {
			stride = 1
		}
		for at := i; at < len(k.p); at += stride {
			p := h.do(slices.Clone(k.p), at)
			src := memory{p: p}
			c, err := OpenCard(src, int64(len(p)))
			if err != nil || bytes.Equal(p, k.p) {
				continue
			}
			raw := 1 + at%3*700
			out, info, err := tryMerge(t.Context(), []mergeable{{MergeSource: c.MergeSource(src)}, other}, MergeOptions{BlockRaw: raw})
			if err != nil {
				if !isCorrupt(err) {
					t.Fatalf("%s at %d: %v", h.name, at, err)
				}
				failed++
				continue
			}
			merged++
			m := mergeable2(t, out, want)
			if at%5 == 0 {
				m.check(t, info)
			} else {
				got, errs := readAll(t, m.index)
				if len(errs) > 0 {
					t.Fatal(errs)
				}
				sameRows(t, got, want)
			}
		}
	}
	if failed < 10 || merged < 10 {
		t.Errorf("%d merges failed, %d did not", failed, merged)
	}
}

// FuzzMerge changes sections, with checksums that match: nothing panics, and all
// errors are of damage, or of what cannot be.
func FuzzMerge(f *testing.F) {
	k := specimen(f)
	foot, _, _ := parseFooter(k.p[len(k.p)-footerSize:])
	sections, err := parseSections(k.p[foot.table:][:foot.tableBytes], foot.table)
	if err != nil {
		f.Fatal(err)
	}
	first := sections[0].off
	rest := pack(f, someRows(rand.New(rand.NewPCG(5, 5)), 100, 30), Info{After: 100, Upto: 101}, 700, 8)
	next := mergeable2(f, rest.p, rest.rows)
	for _, s := range sections {
		f.Add(uint32(s.off-first), []byte{0xff, 0xff, 0xff}, uint16(1))
		f.Add(uint32(s.off-first), bytes.Repeat([]byte{0x80}, 9), uint16(1000))
		f.Add(uint32(s.off+s.bytes/2-first), []byte{1}, uint16(9000))
		f.Add(uint32(s.off+s.bytes/3-first), []byte{2, 3}, uint16(2000))
	}
	f.Fuzz(func(t *testing.T, off uint32, by []byte, raw uint16) {
		p := slices.Clone(k.p)
		copy(p[first+int64(off)%(foot.table-first):foot.table], by)
		resum(t, p, k.p)
		src := memory{p: p}
		c, err := OpenCard(src, int64(len(p)))
		if err != nil {
			return
		}
		_, info, err := tryMerge(t.Context(), []mergeable{{MergeSource: c.MergeSource(src)}, next}, MergeOptions{BlockRaw: int(raw)})
		if want := foot.info.Rows + next.Info().Rows; err == nil && info.Rows != want {
			t.Fatalf("%d rows; want %d", info.Rows, want)
		}
	})
}

// FuzzSalvage overwrites bytes: nothing panics, all rows that are kept were
// written, and what is missing is reported.
func FuzzSalvage(f *testing.F) {
	k := specimen(f)
	total := countRows(k.rows)
	for _, at := range []int{0, 100, 300, len(k.p) / 2, len(k.p) - 5000, len(k.p) - 700, len(k.p) - 100} {
		f.Add(uint32(at), bytes.Repeat([]byte{0xff}, 40), uint32(at/2), []byte{0})
		f.Add(uint32(at), []byte{0xff}, uint32(len(k.p)-at), []byte("BLOK"))
	}
	f.Fuzz(func(t *testing.T, off uint32, by []byte, off2 uint32, by2 []byte) {
		p := slices.Clone(k.p)
		copy(p[int(off)%len(p):], by)
		copy(p[int(off2)%len(p):], by2)
		m, lost, err := salvaged(t, p, k.info, MergeOptions{})
		if err != nil {
			if !isCorrupt(err) && !isVersion(err) {
				t.Fatal(err)
			}
			return
		}
		got, _ := readAll(t, m.index)
		subset(t, "bytes", int(off), got, k.rows)
		if n := countRows(got); n < total && len(lost) == 0 {
			t.Fatalf("%d of %d rows, and nothing is lost", n, total)
		}
	})
}
