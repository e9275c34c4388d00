package logstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// sealedStore returns a closed store of n segments of 3 lines each.
func sealedStore(t *testing.T, o Options, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := openTest(t, dir, o)
	for i := range n {
		sealSome(t, s, i)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func sealSome(t *testing.T, s *Store, i int) {
	t.Helper()
	if err := sealSomeOf(s, i); err != nil {
		t.Fatal(err)
	}
}

func sealSomeOf(s *Store, i int) (err error) {
	ctx := context.Background()
	for j := range 3 {
		err = errors.Join(err, s.Append(ctx, one(MustLabels("a", "b"), int64(1000*i+j), fmt.Sprintf("line %d of %d", j, i))))
	}
	return errors.Join(err, s.Seal(ctx))
}

// losses returns the events of a report that tell of lost positions.
func losses(r Report) (list []Event) {
	for _, e := range r.Events {
		if e.Kind == EventMissing || e.Kind == EventGap {
			list = append(list, e)
		}
	}
	return list
}

// A segment that was deleted is told by each Open, with what was in it, until it is
// back, whatever is sealed and compacted meanwhile.
func TestMissingSegment(t *testing.T) {
	dir := sealedStore(t, anyTime(), 4)
	paths := segmentPaths(t, dir)
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(paths[1], away); err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		s := openTest(t, dir, anyTime())
		got := losses(s.Report())
		if len(got) != 1 {
			t.Fatalf("round %d: %v; want one segment", round, s.Report())
		}
		e := got[0]
		if e.Kind != EventMissing || e.File != paths[1] || e.Entries != 3 || e.MinTime != 1000 || e.MaxTime != 1002 || e.Since.IsZero() != (round == 0) {
			t.Errorf("round %d: %+v", round, e)
		}
		if st := s.Stats(); st.Missing != 1 || st.LostEntries != 3 {
			t.Errorf("round %d: %d missing, %d entries lost", round, st.Missing, st.LostEntries)
		}
		switch round {
		case 1:
			sealSome(t, s, 7)
		case 2:
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(away, paths[1]); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, dir, anyTime())
	if r := s.Report(); len(r.Events) != 0 {
		t.Errorf("it is back: %v", r)
	}
	if n, err := drain(s); n != 15 || err != nil {
		t.Errorf("%d lines, %v; want 15", n, err)
	}
}

// All segments, or their folder, are missed, also what compactions have made of them.
func TestMissingFolder(t *testing.T) {
	for _, compact := range []bool{false, true} {
		dir := sealedStore(t, anyTime(), 5)
		if compact {
			s := openTest(t, dir, anyTime())
			if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.RemoveAll(filepath.Join(dir, catalog.SegmentDir)); err != nil {
			t.Fatal(err)
		}
		s := openTest(t, dir, anyTime())
		lost, upto := int64(0), uint64(0)
		for _, e := range losses(s.Report()) {
			lost, upto = lost+e.Entries, e.Upto
		}
		if lost != 15 || upto == 0 || s.Stats().LostEntries != 15 {
			t.Errorf("compacted %v: %d entries up to %d are told: %v", compact, lost, upto, s.Report())
		}
		mustAppend(t, s, one(MustLabels("a", "b"), 1, "more"))
	}
}

// What retention deletes is not missed, in any order with seals, nor what it would
// have deleted by now.
func TestRetiredIsNotMissing(t *testing.T) {
	const day = 24 * time.Hour
	c := newTestClock()
	o := small()
	o.Clock, o.Retention = c, 30*day
	dir := t.TempDir()
	var deleted string
	for i := range 6 {
		s := openTest(t, dir, o)
		if r := s.Report(); len(r.Events) != 0 {
			t.Fatalf("round %d: %v", i, r)
		}
		mustAppend(t, s, one(MustLabels("a", "b"), c.at(0), "line"))
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 40 * 24 * 60 { // the clock is trusted
			c.ns.Add(int64(time.Minute))
			s.catalog.Time()
		}
		if err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := s.Stats().Retired; n != 1 {
			t.Fatalf("%d segments were deleted", n)
		}
		if i%2 == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		dir = copyStore(t, dir)
	}
	s := openTest(t, dir, o)
	mustAppend(t, s, one(MustLabels("a", "b"), c.at(0), "line"))
	if err := errors.Join(s.Seal(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	deleted = segmentPaths(t, dir)[0]
	if err := os.Remove(deleted); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, copyStore(t, dir), o)
	if got := losses(s.Report()); len(got) != 1 || got[0].Entries != 1 {
		t.Errorf("the deleted one: %v", got)
	}
	c.ns.Add(int64(40 * day))
	o.Clock = c
	s = openTest(t, dir, o)
	if _, ahead := s.catalog.Time(); ahead == 0 {
		if got := losses(s.Report()); len(got) != 0 {
			t.Errorf("it would have been deleted: %v", got)
		}
	}
}

// A salvage that finds nothing, and a file that Open moves to quarantine, are told as
// that and are not missed.
func TestQuarantinedIsNotMissing(t *testing.T) {
	dir := sealedStore(t, anyTime(), 3)
	path := segmentPaths(t, dir)[1]
	fi, err := os.Stat(path)
	if err == nil {
		err = os.WriteFile(path, make([]byte, fi.Size()), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := openTest(t, dir, anyTime())
	if got := s.Report().Events; len(got) != 1 || got[0].Kind != EventDamage {
		t.Errorf("%v", got)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Quarantined != 1 || st.Missing != 0 {
		t.Errorf("%+v", st)
	}
	killed := copyStore(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{killed, dir} {
		s := openTest(t, dir, anyTime())
		if r := s.Report(); len(r.Events) != 0 {
			t.Errorf("%v", r)
		}
	}

	// By its name it is another segment: Open moves it, and what it had is gone.
	dir = sealedStore(t, anyTime(), 3)
	paths := segmentPaths(t, dir)
	wrong := strings.Replace(paths[1], "-00000000.seg", "-00000001.seg", 1)
	if err := os.Rename(paths[1], wrong); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, dir, anyTime())
	if got := s.Report().Events; len(got) != 1 || got[0].Kind != EventQuarantine {
		t.Errorf("%v", got)
	}
	s = openTest(t, copyStore(t, dir), anyTime())
	if r := s.Report(); len(r.Events) != 0 {
		t.Errorf("%v", r)
	}
}

// A segment of another store under the name of one of this store does not hide that this
// one is gone.
func TestSegmentOfAnotherLog(t *testing.T) {
	from, dir := sealedStore(t, anyTime(), 3), sealedStore(t, anyTime(), 3)
	paths := segmentPaths(t, dir)
	copyFile(t, paths[1], segmentPaths(t, from)[1])
	s := openTest(t, dir, anyTime())
	got := s.Report().Events
	if len(got) != 2 || got[0].Kind != EventQuarantine || got[0].Entries != 3 || got[1].Kind != EventMissing || got[1].File != paths[1] {
		t.Errorf("%v", got)
	}
	if n, err := drain(s); n != 6 || err != nil {
		t.Errorf("%d lines, %v; want 6", n, err)
	}
}

// A segment of another store that is in the way of nothing is served and told, and the
// roster says so: then the log follows that of the segment, whatever else is missing.
func TestSegmentOfAnotherLogBelow(t *testing.T) {
	from, dir := sealedStore(t, anyTime(), 3), sealedStore(t, anyTime(), 3)
	dropRoster(t, dir)
	paths := segmentPaths(t, dir)
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	acceptGaps(t, dir)
	copyFile(t, paths[0], segmentPaths(t, from)[0])
	for round := range 3 {
		s := openTest(t, dir, anyTime())
		got := s.Report().Events
		if n := slices.IndexFunc(got, func(e Event) bool { return e.Kind == EventOtherLog }); n < 0 || got[n].Count != 1 || got[n].Entries != 3 || got[n].File != paths[0] {
			t.Errorf("round %d: %v", round, got)
		}
		want := 9
		if round == 2 {
			want = 3
			if l := losses(s.Report()); len(l) != 2 || l[0].Entries+l[1].Entries != 6 {
				t.Errorf("%v; want the two other segments", l)
			}
		} else if round == 1 && len(got) != 1 {
			t.Errorf("round %d: %v", round, got)
		}
		if err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := drain(s); n != want || err != nil {
			t.Errorf("round %d: %d lines, %v; want %d", round, n, err, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if round == 1 {
			paths = segmentPaths(t, dir)
			for _, path := range paths[1:] {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	p, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, p, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Verify misses a deleted segment, but none that retention or a compaction deletes
// while it reads, and none that Open would replay.
func TestVerifyMissesSegments(t *testing.T) {
	dir := sealedStore(t, anyTime(), 4)
	if v, err := Verify(t.Context(), dir, nil); err != nil || len(v.Missing) != 0 {
		t.Fatalf("%+v, %v", v, err)
	}
	paths := segmentPaths(t, dir)
	if err := os.Remove(paths[2]); err != nil {
		t.Fatal(err)
	}
	v, err := Verify(t.Context(), dir, nil)
	m, ok := errors.AsType[*MissingError](err)
	if !ok || len(v.Missing) != 1 || m != v.Missing[0] || m.File != paths[2] || m.Entries != 3 || m.MinTime != 2000 || m.MaxTime != 2002 {
		t.Fatalf("%+v, %v", v, err)
	}
	if text := m.Error(); !strings.Contains(text, "is missing: positions 9 to 12 of the log, 3 entries from 1970") {
		t.Error(text)
	}

	o := anyTime()
	o.RetainBytes = 1
	s := openTest(t, sealedStore(t, anyTime(), 6), o)
	done := make(chan error)
	go func() {
		for i := range 20 {
			sealSomeOf(s, 10+i)
		}
		done <- s.Compact(t.Context())
	}()
	for {
		if c, err := compareSegments(s.dir, filepath.Join(s.dir, logDir)); err != nil || len(c.missing)+len(c.others) > 0 || c.refused != nil {
			t.Fatalf("%+v, %v", c, err)
		}
		select {
		case err := <-done:
			if err != nil || s.Stats().Retired == 0 {
				t.Fatalf("%d were deleted, %v", s.Stats().Retired, err)
			}
			return
		default:
		}
	}
}

// dropRoster makes the log of a closed store one without records.
func dropRoster(t *testing.T, dir string) {
	t.Helper()
	o, err := anyTime().resolve()
	if err != nil {
		t.Fatal(err)
	}
	l, err := openLog(filepath.Join(dir, logDir), &o, nil, &logKeeper{})
	if err != nil {
		t.Fatal(err)
	}
	_, next := l.Bounds()
	if err := errors.Join(l.TruncateBefore(t.Context(), next), l.Close()); err != nil {
		t.Fatal(err)
	}
}

// acceptGaps gives up what nobody can tell after dropRoster.
func acceptGaps(t *testing.T, dir string) {
	t.Helper()
	if p, err := Repair(t.Context(), dir, RepairOptions{AcceptMissing: true}); err != nil || p.Accepted == "" {
		t.Fatalf("%+v, %v", p, err)
	}
}

// A long roster is not written by each seal, and the log never lacks one.
func TestLongRoster(t *testing.T) {
	o := anyTime()
	s := openTest(t, t.TempDir(), o)
	sealSome(t, s, 0)
	s.roster.mu.Lock()
	whole := s.roster.whole
	for i := range uint64(2*rosterPart + 5) {
		s.roster.missing = append(s.roster.missing, rosterOf(1<<40+10*i, 1<<40+10*i+1)...)
	}
	err := s.writeRoster()
	s.roster.upto = s.catalog.Upto() // the others are made up
	s.roster.mu.Unlock()
	if err != nil || s.roster.whole <= whole {
		t.Fatalf("roster at %d, then %d, %v", whole, s.roster.whole, err)
	}
	whole = s.roster.whole
	for i := range 3 {
		s.roster.upto = s.catalog.Upto()
		sealSome(t, s, 1+i)
		if st := s.Stats(); s.roster.whole != whole || st.LogFirst > whole {
			t.Fatalf("seal %d: roster at %d, the log begins at %d; want a roster at %d", i, s.roster.whole, st.LogFirst, whole)
		}
	}
	v, err := s.readContents(t.Context())
	if err != nil || v.whole != whole || len(v.expected) < 2*rosterPart+5+4 {
		t.Errorf("the roster at %d has %d, %v", v.whole, len(v.expected), err)
	}
	s.counts.bytes.Add(uint64(o.logSegment()))
	sealSome(t, s, 5)
	if s.roster.whole == whole || s.Stats().LogFirst <= whole {
		t.Errorf("after many bytes the roster is still at %d, and the log begins at %d", whole, s.Stats().LogFirst)
	}
	whole = s.roster.whole
	s.noteState(int(o.logSegment()))
	until(t, "the log is truncated for its state alone", func() bool { return s.Stats().LogFirst > whole })
}

// A full disk keeps nothing from being sealed, deleted or opened, and the roster is
// written once there is space.
func TestRosterOnFullDisk(t *testing.T) {
	var full atomic.Bool
	o := anyTime()
	o.wrapLog = func(l log) log { return &fullLog{l, &full} }
	dir := t.TempDir()
	s := openTest(t, dir, o)
	sealSome(t, s, 0)
	mustAppend(t, s, one(MustLabels("a", "b"), 5, "line"))
	full.Store(true)
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.removing(holdings(1<<50, 1<<51)); err != nil {
		t.Errorf("nothing may be deleted: %v", err)
	}
	if err := s.Stats().BackgroundError; !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the background error is %v", err)
	}
	full.Store(false)
	sealSome(t, s, 1)
	if err := s.Stats().BackgroundError; err != nil {
		t.Errorf("the background error is %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r := openTest(t, copyStore(t, dir), o).Report(); len(r.Events) != 0 {
		t.Errorf("%v", r)
	}
	dropRoster(t, dir)
	full.Store(true)
	s = openTest(t, dir, o)
	if err := s.Stats().BackgroundError; !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("opened on a full disk: the background error is %v", err)
	}
	if n, err := drain(s); n != 7 || err != nil {
		t.Errorf("%d lines, %v; want 7", n, err)
	}
}

// A fullLog has no space while full is set.
type fullLog struct {
	log
	full *atomic.Bool
}

func (l *fullLog) Append(ctx context.Context, rec []byte) (uint64, error) {
	if l.full.Load() {
		return 0, syscall.ENOSPC
	}
	return l.log.Append(ctx, rec)
}
