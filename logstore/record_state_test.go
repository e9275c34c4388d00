package logstore

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stele-go/stele/wal"
)

// logged returns the records of the log of a closed store.
func logged(t *testing.T, dir string) (list []rowSet) {
	t.Helper()
	l, err := wal.Open(filepath.Join(dir, logDir), wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for rec, err := range l.All(1) {
		if err != nil {
			t.Fatal(err)
		}
		var set rowSet
		if err := set.parse(slices.Clone(rec.Data), noStream); err != nil {
			t.Fatal(err)
		}
		list = append(list, set)
		if _, next := l.Bounds(); rec.Position == next-1 {
			break
		}
	}
	return list
}

// Each life of a store that appends has a term before its first entries.
func TestTerms(t *testing.T) {
	dir := t.TempDir()
	clock := newTestClock()
	o := small()
	o.Clock = clock
	l := MustLabels("a", "b")
	var want []term
	var before term
	var accepted []int64 // by life
	for life := range 4 {
		s := openTest(t, dir, o)
		if _, next := s.log.Bounds(); s.terms.at(next-1) != before.number() {
			t.Errorf("life %d comes behind the term %x, not %x", life, s.terms.at(next-1), before.number())
		}
		if life != 1 { // which writes nothing
			mustAppend(t, s, nil)
			mustAppend(t, s, one(l, clock.at(0), "x"))
			mustAppend(t, s, one(l, clock.at(0), "y"))
			before = s.terms.current
			want = append(want, before)
			accepted = append(accepted, s.catalog.Created()/1e9)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var got []term
	for i, set := range logged(t, dir) {
		if set.head.accepted != accepted[i/3] {
			t.Errorf("record %d was accepted at %d, not %d", i, set.head.accepted, accepted[i/3])
		}
		if i%3 != 0 {
			if len(set.rows) != 1 {
				t.Errorf("record %d has %d rows", i, len(set.rows))
			}
			continue
		}
		if len(set.state) != 1 {
			t.Fatalf("record %d has %v", i, set.state)
		}
		tm, err := set.state[0].term()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tm)
	}
	if !slices.Equal(got, want) {
		t.Errorf("terms %x, not %x", got, want)
	}
	if want[0] == want[1] || want[1] == want[2] {
		t.Errorf("terms %x", want)
	}
}

// Options write version 1, without state.
func TestRecordsOfVersion1(t *testing.T) {
	dir := t.TempDir()
	o := small()
	o.recordVersion = 1
	s := openTest(t, dir, o)
	want := appendSome(t, s, 3)
	s.Close()
	list := logged(t, dir)
	for i, set := range list {
		if set.head != (recordHead{version: 1}) {
			t.Errorf("record %d has the head %+v", i, set.head)
		}
	}
	if len(list) != 3 {
		t.Errorf("%d records", len(list))
	}
	sameCounts(t, "of version 1", counted(contents(t, openTest(t, dir, small()))), want)
}

// Positions of records with state alone belong to the segment after them, so
// that segments cover all positions.
func TestSegmentsCoverState(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	seal := func() {
		t.Helper()
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	appendSome(t, s, 1)
	seal()
	upto := s.catalog.Upto()
	if _, err := s.log.Append(context.Background(), encodeState(1, stateItem{stateOptional, nil})); err != nil {
		t.Fatal(err)
	}
	m := s.enter()
	m.arena.Reserve(10) // as an append that fails
	m.leave()
	seal()
	if s.active.Load() == m || s.catalog.Upto() != upto {
		t.Fatalf("the memtable is still there, or is a segment")
	}
	appendSome(t, s, 1)
	seal()
	in, err := Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := uint64(0)
	for _, g := range in.Segments {
		if g.After != at {
			t.Errorf("positions after %d are in a segment, those before only up to %d", g.After, at)
		}
		at = g.Upto
	}
	if at != 5 || s.Stats().LogNext != 7 { // the last record is a roster
		t.Errorf("segments end at %d, the log at %d", at, s.Stats().LogNext)
	}
}

// State that this version does not know is not skipped, unless it may be.
func TestReplayOfUnknownState(t *testing.T) {
	for typ, known := range map[uint64]bool{6: false, 63: false, stateOptional: true} {
		dir := t.TempDir()
		s := openTest(t, dir, small())
		appendSome(t, s, 2)
		if _, err := s.log.Append(context.Background(), encodeState(1, stateItem{typ, []byte("x")})); err != nil {
			t.Fatal(err)
		}
		appendSome(t, s, 1)
		s.Close()
		s = openTest(t, dir, small())
		want := 200
		if known {
			want = 300
		}
		if n := len(contents(t, s)); n != want {
			t.Errorf("type %d: %d entries, not %d", typ, n, want)
		}
		if err := s.Append(t.Context(), nil); known != (err == nil) || !known && !errors.Is(err, errRecord) {
			t.Errorf("type %d: %v", typ, err)
		}
	}
}
