package catalog

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// goneFrom is a delete at a position: all rows from a time on.
func goneFrom(time int64, pos uint64) Gone {
	return Gone{segment2.Drop{From: time, To: math.MaxInt64, Before: pos, Position: pos}, true}
}

// A segment is rewritten without the rows that are gone. The file before is counted as
// long as a snapshot uses it, and one that a crash brings back is removed.
func TestRewriteWithoutWhatIsGone(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	o.Truncated = 0
	var list []Gone
	o.Gone = func() ([]Gone, uint64) { return list, 101 }
	s := open(t, dir, o)
	rows := rowsOf(1000, 10, "a", "b")
	publish(t, s, 10, rows)
	s.SetTruncated(10)
	maintain(t, s)
	if st := s.Stats(); st.Compactions != 0 {
		t.Fatalf("%d compactions while nothing is gone", st.Compactions)
	}
	held := s.Snapshot()
	before := copyDir(t, dir)
	newest := s.MaxTime()
	list = []Gone{goneFrom(newest, 100)}
	d := list[0].Drop
	if files, bytes := s.Remaining(d); files != 1 || bytes == 0 {
		t.Errorf("%d files of %d bytes before", files, bytes)
	}
	maintain(t, s)
	left, errs := linesOf(held)
	if len(errs) > 0 || len(flat(left)) != 20 {
		t.Errorf("the snapshot has %d lines, %v", len(flat(left)), errs)
	}
	st := s.Stats()
	if st.Rows+st.RemovedRows != 20 || st.RemovedRows == 0 || st.Compactions != 1 {
		t.Fatalf("%+v", st)
	}
	if files, _ := s.Remaining(d); files != 1 || len(namesIn(t, dir, SegmentDir)) != 2 {
		t.Errorf("%d files remain while a snapshot uses one, of %q", files, namesIn(t, dir, SegmentDir))
	}
	want := served(t, s)
	crashed := copyDir(t, dir)
	held.Release()
	maintain(t, s)
	if files, _ := s.Remaining(d); files != 0 || len(namesIn(t, dir, SegmentDir)) != 1 {
		t.Errorf("%d files remain, of %q", files, namesIn(t, dir, SegmentDir))
	}
	closeCatalog(t, s)

	o.Truncated = 10
	s = open(t, crashed, o)
	equalLines(t, "after a crash", served(t, s), want)
	if names := namesIn(t, crashed, QuarantineDir); len(names) > 0 || len(namesIn(t, crashed, SegmentDir)) != 1 {
		t.Errorf("after a crash: %q, quarantine %q", namesIn(t, crashed, SegmentDir), names)
	}
	closeCatalog(t, s)
	s = open(t, before, o)
	maintain(t, s) // once more
	equalLines(t, "of a copy", served(t, s), want)
	closeCatalog(t, s)
}

// A segment of which nothing stays goes, once the log does not replay it, and that is
// announced. One without such rows is not written again.
func TestRemovalOfAll(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	o.Truncated = 0
	var list []Gone
	var removed []Holding
	o.Gone = func() ([]Gone, uint64) { return list, 101 }
	o.Removing = func(h []Holding) error { removed = append(removed, h...); return nil }
	s := open(t, dir, o)
	publish(t, s, 10, rowsOf(1000, 10, "a", "b"))
	list = []Gone{goneFrom(0, 100)}
	maintain(t, s)
	if st := s.Stats(); st.Segments != 1 {
		t.Fatalf("%d segments while the log would replay them", st.Segments)
	}
	s.SetTruncated(10)
	maintain(t, s)
	if st := s.Stats(); st.Segments != 0 || st.RemovedRows != 20 || len(removed) != 1 || len(namesIn(t, dir, SegmentDir)) != 0 {
		t.Errorf("%d segments, %d rows removed, %v announced", st.Segments, st.RemovedRows, removed)
	}
	publish(t, s, 10, rowsOf(1000, 10, "a", "b"))
	s.SetTruncated(20)
	list = []Gone{{segment2.Drop{From: 1002, To: 1003, Conditions: []segment2.Condition{{Name: "name", Values: []string{"z"}}}, Before: 100, Position: 100}, true}}
	maintain(t, s)
	if st := s.Stats(); st.Segments != 1 || st.Compactions != 0 {
		t.Errorf("%d segments, %d compactions; want none for what is not there", st.Segments, st.Compactions)
	}
	closeCatalog(t, s)
}

// A salvaged segment is rewritten without rows that are gone as soon as the file that it
// was salvaged from is in quarantine, and not before: a crash would leave that file
// beside the rewrite, and Open remove it as the source.
func TestRewriteOfASalvage(t *testing.T) {
	o, _ := testOptions()
	dir, _, _ := twoSegments(t, o, publish)
	damageBlock(t, dir, o)
	o.SegmentSize = 1 // nothing is merged
	var list []Gone
	o.Gone = func() ([]Gone, uint64) { return list, 101 }
	s := open(t, dir, o)
	held := s.Snapshot()
	if _, errs := linesOf(held); len(errs) == 0 {
		t.Fatal("the damage was not found")
	}
	maintain(t, s)
	d := goneFrom(s.current.Load().order[0].info.MaxTime, 100)
	d.To = d.From + 1 // so the salvage alone has such rows
	list = []Gone{d}
	maintain(t, s)
	if st := s.Stats(); st.Salvaged != 1 || st.Compactions != 0 || len(namesIn(t, dir, QuarantineDir)) != 0 {
		t.Fatalf("beside a snapshot of before: %d compactions, quarantine %q; want none", st.Compactions, namesIn(t, dir, QuarantineDir))
	}
	held.Release()
	for range 2 { // into quarantine, then without the rows
		maintain(t, s)
	}
	if files, _ := s.Remaining(d.Drop); files != 0 || s.Stats().Compactions != 1 {
		t.Errorf("%d files still have rows of the delete after %d compactions", files, s.Stats().Compactions)
	}
	want := served(t, s)
	closeCatalog(t, s)
	s = open(t, dir, o)
	equalLines(t, "reopened", served(t, s), want)
	if got := namesIn(t, dir, QuarantineDir); len(got) != 2 {
		t.Errorf("in quarantine: %q", got)
	}
	closeCatalog(t, s)
}

// What is gone as a whole needs no space to go. Else as much is needed as stays, and
// what waits for it is an error, also of Maintain, and is tried once a round.
func TestRemovalWithoutSpace(t *testing.T) {
	o, c := testOptions()
	o.SegmentSize = 1 // nothing is merged
	var list []Gone
	o.Gone = func() ([]Gone, uint64) { return list, 101 }
	full := errors.New("of the test")
	var free int64
	asked := 0
	o.CheckSpace = func(bytes int64) error {
		asked++
		c.forward(time.Second) // so the first of many is due again before the last was tried
		if bytes <= free {
			return nil
		}
		return full
	}
	s := open(t, t.TempDir(), o)
	const n = 30
	for i := range int64(n) {
		publish(t, s, 1, rowsOf(1e18+i*1e12, 40, "a", "b"))
	}
	list = []Gone{{segment2.Drop{To: 1e18 + 1e12, From: 0, Before: 100, Position: 100}, true}}
	maintain(t, s)
	if st := s.Stats(); st.Segments != n-1 || asked != 0 {
		t.Fatalf("%d segments, asked for space %d times; want %d, as one is gone as a whole", st.Segments, asked, n-1)
	}
	b := []segment2.Condition{{Name: "name", Values: []string{"b"}}}
	list = []Gone{{segment2.Drop{To: math.MaxInt64, Conditions: b, Before: 100, Position: 100}, true}}
	for _, work := range []func(context.Context) error{s.Maintain, s.CompactAll} {
		asked = 0
		if err := work(t.Context()); !errors.Is(err, full) || s.Stats().RemovedRows != 80 || asked != n-1 {
			t.Errorf("%v, %d rows removed, asked for space %d times; want %d", err, s.Stats().RemovedRows, asked, n-1)
		}
	}
	free = s.current.Load().order[0].info.Size * 3 / 4 // more than what stays
	if err := s.CompactAll(t.Context()); err != nil || s.Stats().Rows != (n-1)*40 {
		t.Errorf("with space for what stays: %v, %d rows", err, s.Stats().Rows)
	}
	closeCatalog(t, s)
}
