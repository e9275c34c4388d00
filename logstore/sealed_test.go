package logstore

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// idsOf returns for each line of a store's segments where it was in the log.
func idsOf(t *testing.T, s *Store) map[string]segment2.ID {
	t.Helper()
	segs := s.catalog.Snapshot()
	defer segs.Release()
	ids := map[string]segment2.ID{}
	for seg := range segs.Segments() {
		zones, err := seg.Zones(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, z := range zones {
			g, err := seg.Group(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			var f segment2.Frame
			var d block.Decoder
			for b := z.First; b < z.First+z.Blocks; b++ {
				if err := seg.ReadFrame(t.Context(), &f, g, b); err != nil {
					t.Fatal(err)
				}
				list, err := seg.IDs(t.Context(), nil, &f)
				if err != nil {
					t.Fatal(err)
				}
				dictionary, err := seg.Dictionary(t.Context(), f.Dictionary)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := d.Decode(f.Block, dictionary); err != nil {
					t.Fatal(err)
				}
				for row, id := range list {
					ids[string(d.Line(row))] = id
				}
			}
		}
	}
	return ids
}

// A segment has the position and the place of each entry, and keeps them when it
// is compacted: also of entries that came late, and of those that were replayed.
func TestSegmentsHaveIDs(t *testing.T) {
	o := small()
	o.Level, o.LateWindow, o.FutureWindow = durability.Kill, -1, -1
	dir := t.TempDir()
	s := openTest(t, dir, o)
	want := map[string]segment2.ID{}
	add := func(record int) {
		var b Batch
		_, next := s.log.Bounds()
		if !s.terms.written.Load() {
			next++
		}
		place := map[Labels]uint32{}
		for part := range 3 {
			st := Stream{Labels: MustLabels("app", fmt.Sprint(part%2))}
			for e := range 4 {
				line := fmt.Sprintf("record %d, part %d, entry %d", record, part, e)
				st.Entries = append(st.Entries, Entry{Time: int64(1000 - 7*record), Line: []byte(line)})
				want[line] = segment2.ID{Position: next, Place: place[st.Labels]}
				place[st.Labels]++
			}
			b = append(b, st)
		}
		mustAppend(t, s, b)
	}
	for record := range 30 {
		add(record)
		switch record {
		case 10, 20:
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 25:
			s.Close()
			s = openTest(t, dir, o)
		}
	}
	for _, step := range []func() error{func() error { return s.Seal(t.Context()) }, func() error { return s.Compact(t.Context()) }} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if got := idsOf(t, s); !maps.Equal(got, want) {
			for line, id := range want {
				if got[line] != id {
					t.Fatalf("%s is %+v, want %+v", line, got[line], id)
				}
			}
			t.Fatalf("%d entries, want %d", len(got), len(want))
		}
	}
}

// A segment says of which log and of which life of the store its positions are.
func TestSegmentsHaveTerms(t *testing.T) {
	dir := t.TempDir()
	l := MustLabels("app", "api")
	last := uint64(0) // term of the segment before
	for life := range 3 {
		s := openTest(t, dir, small())
		mustAppend(t, s, one(l, s.o.now().UnixNano(), "x"))
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		segs := s.catalog.Snapshot()
		var info segment2.Info
		for seg := range segs.Segments() {
			info = seg.Info()
		}
		segs.Release()
		if info.Log != s.log.ID() || info.Log == [16]byte{} {
			t.Errorf("life %d: the segment is of the log %x, want %x", life, info.Log, s.log.ID())
		}
		if info.Term != s.terms.current.number() || info.TermBefore != last {
			t.Errorf("life %d: terms %x after %x, want %x after %x", life, info.Term, info.TermBefore, s.terms.current.number(), last)
		}
		last = info.Term
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A stream takes memory until no memtable has it, and not only of the memtable in
// which it was first.
func TestStreamsTakeMemory(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	now := s.o.now().UnixNano()
	const streams, labels = 1000, 2000
	var b Batch
	for i := range streams {
		b = append(b, Stream{MustLabels("app", fmt.Sprintf("%0*d", labels, i)), []Entry{{Time: now}}})
	}
	before := s.throttle.used.Load()
	mustAppend(t, s, b)
	first := s.active.Load()
	taken := s.throttle.used.Load() - before - first.bytes.Load()
	if taken < streams*labels || taken > 2*streams*labels {
		t.Errorf("%d streams of %d bytes take %d", streams, labels, taken)
	}
	for i := range b {
		b[i].Entries[0].Time++
	}
	next := s.freeze()
	mustAppend(t, s, b)
	next.waitDrained()
	if err := s.seal(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	s.streams.forgetReleased()
	if got := s.throttle.used.Load() - s.active.Load().bytes.Load(); got < taken {
		t.Errorf("streams that the next memtable has take %d bytes, before they took %d", got, taken)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.streams.forgetReleased()
	until(t, "the streams are forgotten", func() bool { return s.throttle.used.Load() < streams*labels/10 })
}
