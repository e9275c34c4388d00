package wal

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A place is that of a record.
type place struct {
	segment uint64
	off     int64
}

// salvageAll returns the places of all records that Salvage finds, and its
// errors. It fails the test for a record that was not written, or is doubled or
// out of order, and for a gap without an error.
func salvageAll(t testing.TB, dir string, written func(RecordInfo) bool) (found []place, errs []error) {
	t.Helper()
	in := must(Inspect(dir))(t)
	next, told := Position(0), false
	for r, err := range in.Salvage(0) {
		if err != nil {
			errs, told = append(errs, err), true
			continue
		}
		switch {
		case r.Position < next:
			t.Fatalf("position %d comes after %d", r.Position, next)
		case r.Type == "data" && !written(r):
			t.Fatalf("position %d holds %.40q, which was not written", r.Position, r.Data)
		case !told && next != 0 && r.Position != next:
			t.Fatalf("position %d comes after %d, and nothing was told", r.Position, next)
		}
		if next, told = r.Position, false; r.Type == "data" {
			next++
		}
		found = append(found, place{r.Segment, r.Offset})
	}
	return found, errs
}

// written reports whether r is a record of the specimen.
func (sp *specimen) written(r RecordInfo) bool {
	return sp.first <= r.Position && r.Position < sp.next && bytes.Equal(r.Data, payload(r.Position))
}

// intact returns the places of the records that are whole in files. Those of a
// segment whose salt is damaged count if the first two are.
func (sp *specimen) intact(files map[string][]byte) (all []place) {
	for _, n := range sp.segments {
		was, is := sp.files[segmentName(n)], files[segmentName(n)]
		var whole []place
		first := 0
		for i, r := range sp.records[n] {
			if r.next <= int64(len(is)) && bytes.Equal(is[r.off:r.next], was[r.off:r.next]) {
				whole = append(whole, place{n, r.off})
				if i < 2 {
					first++
				}
			}
		}
		if len(is) >= headerSum+4 && bytes.Equal(is[48:56], was[48:56]) || first == 2 {
			all = append(all, whole...)
		}
	}
	return all
}

// checkSalvage compares Salvage with what is intact, and its errors with those
// of Verify.
func (sp *specimen) checkSalvage(t testing.TB, files map[string][]byte) (found int) {
	t.Helper()
	dir := putFiles(t, files)
	defer os.RemoveAll(dir)
	got, errs := salvageAll(t, dir, sp.written)
	if want := sp.intact(files); !slices.Equal(got, want) {
		t.Errorf("%d records, want the %d that are intact; errors: %v", len(got), len(want), errs)
	}
	rep, err := Verify(dir)
	switch {
	case err != nil && len(errs) == 0:
		t.Errorf("nothing is told; Verify: %v", err)
	case err == nil && (rep.Torn == nil || rep.Torn.Records == 0) && len(errs) > 0:
		t.Errorf("%v; Verify finds no damage: %+v", errs, rep)
	}
	return len(got)
}

// Salvage finds every intact record of a damaged log, and no other.
func TestSalvage(t *testing.T) {
	cells := 0
	skip := func() bool { // all of it takes long under the race detector
		cells++
		return os.Getenv("STELE_LONG") == "" && cells%7 != 0
	}
	for _, recycled := range []bool{false, true} {
		for _, clean := range []bool{false, true} {
			sp := grow(t, recycled, clean)
			t.Run(sp.name, func(t *testing.T) {
				all := sp.checkSalvage(t, sp.files)
				least := all
				for _, s := range sp.locations() {
					for _, d := range damages {
						if skip() {
							continue
						}
						files := maps.Clone(sp.files)
						name := segmentName(s.segment)
						files[name] = d.do(slices.Clone(files[name]), int(s.at), sp.old)
						t.Run(s.name+"/"+d.name, func(t *testing.T) { least = min(least, sp.checkSalvage(t, files)) })
					}
				}
				for _, n := range sp.segments {
					for at := range headerSum + 4 {
						if skip() {
							continue
						}
						files := maps.Clone(sp.files)
						b := slices.Clone(files[segmentName(n)])
						b[at] ^= 1 << (at % 8)
						files[segmentName(n)] = b
						if got := sp.checkSalvage(t, files); got != all {
							t.Errorf("header byte %d of segment %d: %d of %d records", at, n, got, all)
						}
					}
				}
				if least > all*3/4 {
					t.Errorf("of %d records at least %d were found", all, least)
				}
			})
		}
	}
}

// Damage to whole files: what Salvage finds, and what it tells.
func TestSalvageFiles(t *testing.T) {
	sp := grow(t, true, true)
	name := func(i int) string { return segmentName(sp.segments[i]) }
	in := func(segments ...int) (all []place) {
		for _, i := range segments {
			for _, r := range sp.records[sp.segments[i]] {
				all = append(all, place{sp.segments[i], r.off})
			}
		}
		return all
	}
	other := grow(t, false, true)
	for _, c := range []struct {
		what string
		do   func(f map[string][]byte)
		want []place
		errs int
	}{
		{"nothing", func(f map[string][]byte) {}, in(0, 1, 2), 0},
		{"prepared missing", func(f map[string][]byte) { delete(f, segmentName(sp.prepared)) }, in(0, 1, 2), 0},
		{"prepared damaged", func(f map[string][]byte) { f[segmentName(sp.prepared)] = make([]byte, 99) }, in(0, 1, 2), 0},
		{"first missing", func(f map[string][]byte) { delete(f, name(0)) }, in(1, 2), 1},
		{"sealed missing", func(f map[string][]byte) { delete(f, name(1)) }, in(0, 2), 1},
		{"sealed empty", func(f map[string][]byte) { f[name(1)] = nil }, in(0, 2), 1},
		{"sealed zeros", func(f map[string][]byte) { f[name(1)] = make([]byte, minSegmentSize) }, in(0, 2), 1},
		{"another log's", func(f map[string][]byte) { f[name(1)] = other.files[segmentName(2)] }, in(0, 2), 1},
		{"doubled", func(f map[string][]byte) { copy(f[name(1)], f[name(0)]) }, in(0, 2), 1},
		{"doubled in place of the prepared", func(f map[string][]byte) { f[segmentName(sp.prepared)] = f[name(2)] }, in(0, 1, 2), 1},
		{"the header of another", func(f map[string][]byte) { copy(f[name(1)][:firstOffset], f[name(0)]) }, in(0, 1, 2), 1},
		{"active missing", func(f map[string][]byte) { delete(f, name(2)) }, in(0, 1), 2},
		{"all but the last missing", func(f map[string][]byte) { delete(f, name(0)); delete(f, name(1)) }, in(2), 1},
		{"all missing", func(f map[string][]byte) { deleteFrom(f, sp.segments[0]) }, nil, 2},
		{"header of the first", func(f map[string][]byte) { clear(f[name(0)][:firstOffset]) }, in(0, 1, 2), 1},
		{"headers of all", func(f map[string][]byte) {
			for i := range 3 {
				clear(f[name(i)][:firstOffset])
			}
		}, in(0, 1, 2), 3},
		{"META missing", func(f map[string][]byte) { delete(f, metaName) }, in(0, 1, 2), 1},
		{"META and a header", func(f map[string][]byte) { f[metaName] = nil; clear(f[name(1)][:100]) }, in(0, 1, 2), 2},
		{"end record of the sealed", func(f map[string][]byte) {
			rs := sp.records[sp.segments[1]]
			f[name(1)][rs[len(rs)-1].off] ^= 1
		}, slices.Concat(in(0), in(1)[:len(in(1))-1], in(2)), 1},
		{"the active has no records any more", func(f map[string][]byte) { clear(f[name(2)][firstOffset:]) }, in(0, 1), 1},
	} {
		files := map[string][]byte{}
		for n, b := range sp.files {
			// Leftovers would be read without META.
			if i := segmentNumber(n); i == 0 || i >= sp.segments[0] {
				files[n] = slices.Clone(b)
			}
		}
		c.do(files)
		got, errs := salvageAll(t, putFiles(t, files), sp.written)
		if !slices.Equal(got, c.want) || len(errs) != c.errs {
			t.Errorf("%s: %d records, want %d; want %d errors: %v", c.what, len(got), len(c.want), c.errs, errs)
		}
	}
}

// Records within payloads are no records, also where the salt is not known.
func TestSalvageCopies(t *testing.T) {
	sp := grow(t, false, true)
	copied := sp.files[segmentName(1)][:minSegmentSize/4-5000]
	dir := memoryDir(t)
	p, _ := openPen(t, dir, small())
	for p.g.number < 4 {
		p.append(copied[:min(len(copied), 5000+int(p.next)*977)])
	}
	p.close()
	written := func(r RecordInfo) bool {
		return bytes.Equal(r.Data, copied[:min(len(copied), 5000+int(r.Position)*977)])
	}
	all, errs := salvageAll(t, dir, written)
	if Position(len(all)) < p.next || errs != nil {
		t.Fatalf("%d records, %v", len(all), errs)
	}
	files := readAll(t, dir)
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		damaged := maps.Clone(files)
		for _, n := range []uint64{1, 2, 3, 4} {
			b := slices.Clone(damaged[segmentName(n)])
			if r.IntN(2) == 0 {
				clear(b[:firstOffset])
			}
			for range r.IntN(4) {
				at := r.IntN(len(b))
				b = damages[r.IntN(len(damages)-1)].do(b, at, files[segmentName(1)])
			}
			damaged[segmentName(n)] = b
		}
		salvageAll(t, putFiles(t, damaged), written)
	}
}

// Salvage begins at a position, ends when it is told to, and says if segments
// vanish.
func TestSalvageSteps(t *testing.T) {
	sp := grow(t, false, false)
	name := segmentName(sp.segments[1])
	hurt := sp.records[sp.segments[1]][3]
	sp.files[name] = slices.Clone(sp.files[name])
	sp.files[name][hurt.off] ^= 1
	dir := putFiles(t, sp.files)
	in := must(Inspect(dir))(t)
	var got []Position
	var damage *CorruptError
	for r, err := range in.Salvage(hurt.pos - 1) {
		if err != nil {
			damage, _ = errors.AsType[*CorruptError](err)
		} else if r.Type == "data" {
			got = append(got, r.Position)
		}
	}
	if damage == nil || damage.Offset != hurt.off || damage.File != filepath.Join(dir, name) {
		t.Errorf("%v; want damage at %d", damage, hurt.off)
	}
	if len(got) < 3 || got[0] != hurt.pos-1 || got[1] != hurt.pos+1 || got[len(got)-1] != sp.next-1 {
		t.Errorf("positions %v; want %d, then %d to %d", got, hurt.pos-1, hurt.pos+1, sp.next-1)
	}
	steps := 0
	for range in.Salvage(0) {
		steps++
	}
	for stop := 1; stop <= steps; stop++ {
		n := 0
		for range in.Salvage(0) {
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("%d steps, want %d", n, stop)
		}
	}
	check(t, os.Remove(filepath.Join(dir, name)))
	var last error
	for _, err := range in.Salvage(0) {
		last = err
	}
	if !errors.Is(last, ErrTruncated) {
		t.Errorf("a segment vanished: %v", last)
	}
}

// The seed that is told by a head is the one that it was written with.
func TestSeedBefore(t *testing.T) {
	for salt := range uint64(1000) {
		g := &segment{seed: seedOf(salt * 0x9e3779b97f4a7c15)}
		off := int64(firstOffset + salt*37)
		rec := g.appendRecord(nil, off, typeData, Position(salt+1), uint32(salt), checksum(nil), nil)
		sum := uint32(rec[0]) | uint32(rec[1])<<8 | uint32(rec[2])<<16 | uint32(rec[3])<<24
		if got := seedBefore(sum, off, rec); got != g.seed {
			t.Fatalf("salt %d: seed %x, want %x", salt, got, g.seed)
		}
	}
}

// Whatever happens to the files of a log, Salvage yields written records only,
// in order, and says at least what Verify says.
func FuzzSalvage(f *testing.F) {
	specimens := []*specimen{grow(f, false, false), grow(f, true, true)}
	f.Add([]byte{0, 1, 0, 0, 32, 1, 0})
	f.Add([]byte{1, 2, 3, 0, 64, 0, 64})
	f.Add([]byte{0, 9, 1, 0, 0, 0, 32, 1, 0, 60, 0, 9})
	f.Add([]byte{1, 0x84, 5, 0, 200, 0, 1, 2, 6, 0, 10, 99, 1})
	f.Add([]byte{1, 0xc4, 2, 0, 32, 0, 32})
	f.Add([]byte("1BY \x0000")) // a copy of a used segment in place of a prepared one
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) < 2 {
			return
		}
		sp := specimens[ops[0]%2]
		files := sp.changed(ops)
		dir, err := os.MkdirTemp(memoryDir(t), "")
		check(t, err)
		defer os.RemoveAll(dir)
		for name, b := range files {
			check(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
		}
		if _, ok := files[metaName]; !ok && len(must(readListing(dir))(t).numbers) == 0 {
			return
		}
		if _, err := Inspect(dir); err != nil {
			if _, ok := errors.AsType[*VersionError](err); !ok {
				t.Fatal(err)
			}
			return
		}
		_, errs := salvageAll(t, dir, func(r RecordInfo) bool {
			// Without META also records that were discarded.
			return r.Position < sp.next && bytes.Equal(r.Data, payload(r.Position))
		})
		if rep, err := Verify(dir); err != nil && len(errs) == 0 {
			t.Fatal(fmt.Errorf("nothing is told; Verify: %+v, %w", rep, err))
		}
	})
}
