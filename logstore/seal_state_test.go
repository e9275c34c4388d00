package logstore

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
)

// stateStore returns a store with a pending deletion, a source that is forgotten, one that
// stays, and a batch of which the segment is removed; all of which the log alone says.
func stateStore(t *testing.T, dir string, o Options) (s *Store, pending uint64) {
	t.Helper()
	s = openTest(t, dir, o)
	day := int64(24 * time.Hour)
	with(t, s, numbered(1, 0, 10, 6), AppendOptions{Key: [16]byte{7}}, 10, 0)
	mustSeal(t, s)
	with(t, s, numbered(day, 100, 10, 6), AppendOptions{Source: "gone"}, 10, 0)
	with(t, s, numbered(day, 200, 10, 6), AppendOptions{Source: "old"}, 10, 0)
	mustAppend(t, s, one(MustLabels("app", "a"), day, "a secret"))
	mustAppend(t, s, one(MustLabels("app", "a"), day, "kept"))
	mustSeal(t, s)
	mustDelete(t, s, Deletion{To: 1000})
	mustDo(t, s.Compact(t.Context()))
	mustDo(t, s.ForgetSource(t.Context(), "", "gone"))
	return s, mustDelete(t, s, Deletion{Selector: app("a"), Lines: []LineMatch{{Equal, "secret"}}})
}

// fillWithState appends state until the log has been truncated behind a position.
func fillWithState(t *testing.T, s *Store, behind uint64) {
	t.Helper()
	text := strings.Repeat("x", 30<<10)
	for range 5 * s.o.logSegment() / int64(len(text)) {
		pos := mustDelete(t, s, Deletion{Selector: app("b"), Lines: []LineMatch{{Equal, text}}})
		mustDo(t, s.CancelDeletion(t.Context(), "", pos))
	}
	until(t, "the log is truncated", func() bool {
		first, _ := s.log.Bounds()
		return first > behind
	})
}

// A log is truncated though nothing but deletions comes, and what it says stays: in a store
// with segments and without, more than once, and after a crash.
func TestStateAloneIsTruncated(t *testing.T) {
	o := anyTime()
	o.Clock = newTestClock() // which stands: no segment is rewritten for the deletion before Open
	o.Level, o.logSegmentSize, o.SegmentSpan = durability.Kill, 256<<10, 1
	dir := t.TempDir()
	s, pending := stateStore(t, dir, o)
	want := linesOf(t, s, Query{})
	if len(want) != 21 {
		t.Fatalf("%d lines; want 21", len(want))
	}
	sources := map[string]uint64{"old": 9}
	check := func(s *Store) {
		t.Helper()
		if got := linesOf(t, s, Query{}); !slices.Equal(got, want) {
			t.Errorf("%q; want %q", got, want)
		}
		if got := knownSources(t, s, ""); !maps.Equal(got, sources) {
			t.Errorf("sources %v; want %v", got, sources)
		}
		with(t, s, numbered(1, 0, 10, 6), AppendOptions{Key: [16]byte{7}}, 0, 10)
		if got := losses(s.Report()); len(got) != 0 {
			t.Errorf("losses are told: %v", got)
		}
	}
	for round := range 2 {
		_, next := s.log.Bounds()
		fillWithState(t, s, next)
		// Once the store was opened again, a compaction applies it.
		if list := s.Deletions(); round == 0 && (len(list) != 1 || list[0].Position != pending) {
			t.Errorf("pending are %+v", list)
		}
		check(s)
		copied := copyStore(t, dir)
		if v, err := Verify(t.Context(), copied, nil); err != nil || len(v.Missing) != 0 {
			t.Errorf("Verify: %+v, %v", v, err)
		}
		if p, err := PlanRepair(t.Context(), copied, RepairOptions{}); err != nil || len(p.Missing) != 0 || len(p.Lost) != 0 {
			t.Errorf("PlanRepair: %+v, %v", p, err)
		}
		s.Close()
		dir = copied
		s = openTest(t, dir, o)
		check(s)
	}
	mustAppend(t, s, one(MustLabels("app", "c"), int64(24*time.Hour), "new"))
	want = linesOf(t, s, Query{})
	mustSeal(t, s)
	dir = copyStore(t, dir)
	s.Close()
	s = openTest(t, dir, o)
	check(s)
}

// So is the log of a store that never had an entry.
func TestStateAloneWithoutSegments(t *testing.T) {
	o := anyTime()
	o.Level, o.logSegmentSize = durability.Kill, 256<<10
	dir := t.TempDir()
	s := openTest(t, dir, o)
	fillWithState(t, s, 2)
	again := openTest(t, copyStore(t, dir), o)
	mustAppend(t, again, one(MustLabels("app", "c"), 1, "new"))
	mustSeal(t, again)
	if got := linesOf(t, openTest(t, copyStore(t, again.dir), o), Query{}); len(got) != 1 || len(losses(again.Report())) != 0 {
		t.Errorf("%q; told are %v", got, again.Report())
	}
}

// The term that the log tells counts for what is sealed next, though the record with which
// it began is truncated and no segment is of it: Open judges the segment by it.
func TestTermOfTruncatedState(t *testing.T) {
	o := anyTime()
	o.Level, o.logSegmentSize = durability.Kill, 256<<10
	again := func(s *Store) *Store {
		t.Helper()
		dir := copyStore(t, s.dir)
		s.Close()
		s = openTest(t, dir, o)
		<-s.Ready()
		return s
	}
	for _, begun := range []bool{false, true} { // another term, before the seal
		s := openTest(t, t.TempDir(), o)
		mustAppend(t, s, one(MustLabels("app", "a"), 1, "first"))
		mustSeal(t, s)
		s = again(s)
		_, next := s.log.Bounds()
		fillWithState(t, s, next)
		mustAppend(t, s, one(MustLabels("app", "a"), 2, "second"))
		s = again(s)
		if begun {
			mustAppend(t, s, one(MustLabels("app", "a"), 3, "third"))
		}
		s.truncation.hold() // a crash before the log is truncated
		mustSeal(t, s)
		want := linesOf(t, s, Query{})
		if got := linesOf(t, again(s), Query{}); !slices.Equal(got, want) {
			t.Errorf("%q; want %q", got, want)
		}
	}
}
