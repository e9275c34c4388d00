package logstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A log without a roster tells gaps, has a roster then, and goes on to tell them, until a
// segment fills them.
func TestGaps(t *testing.T) {
	o := anyTime()
	dir := sealedStore(t, o, 4)
	dropRoster(t, dir)
	paths := segmentPaths(t, dir)
	begin, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 2, 3} {
		if err := os.Remove(paths[i]); err != nil {
			t.Fatal(err)
		}
	}
	s := openTest(t, dir, o)
	first := s.Stats().LogFirst
	check := func(s *Store, begins int, since bool) {
		t.Helper()
		var got []Event
		for _, e := range losses(s.Report()) {
			if e.Kind == EventGap {
				got = append(got, e)
			}
		}
		want := []PositionRange{{1, 4}, {9, first - 1}}[begins:]
		positions := int64(0)
		for i, r := range want {
			positions += int64(r.Last - r.First + 1)
			if len(got) != len(want) || got[i].After+1 != r.First || got[i].Upto != r.Last || got[i].Since.IsZero() == since {
				t.Fatalf("%v; want %v", got, want)
			}
		}
		if st := s.Stats(); st.Gaps != int64(len(want)) || st.MissingPositions < positions {
			t.Errorf("Stats has %d gaps with %d positions; want %d with %d", st.Gaps, st.MissingPositions, len(want), positions)
		}
	}
	check(s, 0, false)
	s = openTest(t, copyStore(t, dir), o)
	check(s, 0, true)
	sealSome(t, s, 1)
	if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	check(openTest(t, s.dir, o), 0, true)
	r, err := OpenReadOnly(copyStore(t, dir), o)
	if err != nil {
		t.Fatal(err)
	}
	check(r, 0, true)
	if err := errors.Join(r.Close(), os.WriteFile(paths[0], begin, 0o666)); err != nil {
		t.Fatal(err)
	}
	check(openTest(t, copyStore(t, dir), o), 1, true)
	if err := errors.Join(s.Close(), os.Remove(paths[1])); err != nil {
		t.Fatal(err)
	}
	if got := losses(openTest(t, copyStore(t, dir), o).Report()); len(got) != 2 || got[0].Kind != EventMissing || got[1].Kind != EventGap {
		t.Errorf("the last is deleted: %v", got)
	}
}

// A gap is told by all doors before Open has told it, and after.
func TestGapsAtTheDoors(t *testing.T) {
	o := anyTime()
	for _, log := range []string{"without a roster", "lost"} {
		dir := sealedStore(t, o, 4)
		paths := segmentPaths(t, dir)
		dropRoster(t, dir)
		if log == "lost" {
			remove(t, filepath.Join(dir, logDir))
		}
		remove(t, paths[2])
		rest := 0
		if log != "lost" {
			rest = 1 // the position of the roster
		}
		for round := range 2 {
			gap := func(list []*MissingError) bool {
				return len(list) == rest+1 && list[0].File == "" && list[0].After == 8 && list[0].Upto == 12 && list[0].Entries == -1
			}
			v, err := Verify(t.Context(), dir, nil)
			if v == nil || !gap(v.Missing) || err == nil {
				t.Errorf("%s, round %d: Verify: %+v, %v", log, round, v, err)
			}
			p, err := PlanRepair(t.Context(), dir, RepairOptions{})
			if err != nil || !gap(p.Missing) {
				t.Errorf("%s, round %d: PlanRepair: %+v, %v", log, round, p, err)
			}
			if log == "lost" && round == 0 && !strings.Contains(p.report("log-x", time.Unix(0, 0)), "positions 9 to 12 of the log") {
				t.Errorf("the report of the repair: %s", p.report("log-x", time.Unix(0, 0)))
			}
			r, err := OpenReadOnly(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			if got := losses(r.Report()); len(got) != rest+1 || got[0].Kind != EventGap || got[0].After != 8 || got[0].Upto != 12 {
				t.Errorf("%s, round %d: OpenReadOnly: %v", log, round, r.Report())
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if _, err := Repair(t.Context(), dir, RepairOptions{}); err != nil {
				t.Fatal(err)
			}
			s := openTest(t, dir, o)
			told := 0
			for _, e := range losses(s.Report()) {
				if e.Upto == 12 {
					told++
				}
			}
			if told != 1 {
				t.Errorf("%s, round %d: Open: %v", log, round, s.Report())
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// What retention would have deleted by now is no gap any more.
func TestGapExpires(t *testing.T) {
	c := newTestClock()
	o := anyTime()
	o.Clock, o.Retention = c, 24*time.Hour
	dir := t.TempDir()
	s := openTest(t, dir, o)
	for range 3 {
		mustAppend(t, s, one(MustLabels("a", "b"), c.at(0), "x"))
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dropRoster(t, dir)
	remove(t, segmentPaths(t, dir)[1])
	for _, gaps := range []int64{2, 2, 0} { // one is the position of the roster
		s := openTest(t, dir, o)
		if st := s.Stats(); st.Gaps != gaps {
			t.Errorf("%d gaps; want %d", st.Gaps, gaps)
		}
		for range 13 * 60 { // the clock is trusted all the time
			c.ns.Add(int64(time.Minute))
			s.catalog.Time()
		}
		mustAppend(t, s, one(MustLabels("a", "b"), c.at(0), "x"))
		if err := errors.Join(s.Seal(t.Context()), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
