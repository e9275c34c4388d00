package logstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

func TestLogTerms(t *testing.T) {
	// steps: a number is the position of a record; behind it b begins and g goes on with
	// a term, and l tells that the record is lost.
	type step struct {
		pos  uint64
		what byte
		term uint64
	}
	none := func(catalog.Holding) bool { return false }
	for _, c := range []struct {
		name  string
		steps []step
		found []catalog.Holding
		want  []uint64 // the terms of position 4 and those behind it
	}{
		{"none", []step{{5, 0, 0}, {6, 0, 0}}, nil, []uint64{0, 0, 0}},
		{"it begins", []step{{5, 0, 0}, {6, 'b', 1}, {7, 0, 0}, {8, 'b', 2}}, nil, []uint64{0, 0, 1, 1, 2}},
		{"it goes on", []step{{5, 0, 0}, {6, 0, 0}, {7, 'g', 1}, {8, 'b', 2}}, nil, []uint64{1, 1, 1, 1, 2}},
		{"the first goes on", []step{{5, 'g', 1}, {6, 0, 0}}, nil, []uint64{1, 1, 1}},
		{"a gap", []step{{5, 'b', 1}, {7, 0, 0}, {8, 0, 0}, {9, 'b', 2}}, nil, []uint64{0, 1, 1, 0, 0, 2}},
		{"a gap, and it goes on", []step{{5, 'b', 1}, {8, 0, 0}, {9, 'g', 2}}, nil, []uint64{0, 1, 1, 2, 2, 2}},
		{"a lost record", []step{{5, 'b', 1}, {6, 'l', 0}, {7, 0, 0}}, nil, []uint64{0, 1, 1, 0}},
		{"a segment tells", []step{{5, 0, 0}, {6, 0, 0}, {7, 'b', 2}}, []catalog.Holding{{Upto: 6, Term: 3}, {Upto: 4, Term: 1}, {Upto: 3, Term: 9}}, []uint64{1, 1, 1, 2}},
		{"a segment in another term", []step{{5, 'b', 2}, {6, 0, 0}}, []catalog.Holding{{Upto: 5, Term: 3}}, []uint64{0, 2, 2}},
	} {
		var l logTerms
		for _, s := range c.steps {
			l.next(s.pos)
			switch s.what {
			case 'b':
				l.begin(s.pos, s.term)
			case 'g':
				l.goesOn(s.term)
			case 'l':
				l.forget(s.pos + 1)
			}
		}
		l = l.with(5, c.found, none)
		for i, want := range c.want {
			if got := l.at(4 + uint64(i)); got != want {
				t.Errorf("%s: position %d is of term %d; want %d", c.name, 4+i, got, want)
			}
		}
		if got := l.at(3); got != 0 {
			t.Errorf("%s: position 3 is of term %d", c.name, got)
		}
	}
}

// However often it is sealed, the log tells its term.
func TestLogTellsItsTerm(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, anyTime())
	for i := range 5 {
		sealSome(t, s, i)
	}
	want := s.terms.current.number()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p := logOf(dir, filepath.Join(dir, logDir))
	if p.terms.at(p.first-1) != want || p.terms.at(p.next-1) != want {
		t.Errorf("positions %d to before %d are of the terms %+v; want %x", p.first, p.next, p.terms, want)
	}
	// A life that only tells what is missing has a term too.
	if err := os.Remove(segmentPaths(t, dir)[1]); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, dir, anyTime())
	_, next := s.log.Bounds()
	if s.terms.at(next-1) != s.terms.current.number() || s.terms.at(next-2) != want {
		t.Errorf("the terms are %x; want %x and then %x", s.terms.list, want, s.terms.current.number())
	}
}

func TestRosterExcludes(t *testing.T) {
	e := &rosterEntry{Holding: catalog.Holding{After: 10, Upto: 20, Generation: 2, Rows: 5, MinTime: 1, MaxTime: 9}}
	for _, c := range []struct {
		what string
		h    catalog.Holding
		want bool
	}{
		{"itself", e.Holding, false},
		{"other entries", catalog.Holding{After: 10, Upto: 20, Generation: 2, Rows: 6, MinTime: 1, MaxTime: 9}, true},
		{"its salvage", catalog.Holding{After: 10, Upto: 20, Generation: 3, Rows: 4, MinTime: 1, MaxTime: 9}, false},
		{"a compaction of it", catalog.Holding{After: 5, Upto: 20, Generation: 3, Rows: 9}, false},
		{"a compaction without it", catalog.Holding{After: 5, Upto: 25, Generation: 2, Rows: 9}, true},
		{"a source of it", catalog.Holding{After: 10, Upto: 15, Generation: 1, Rows: 2}, false},
		{"no source of it", catalog.Holding{After: 10, Upto: 15, Generation: 2, Rows: 2}, true},
		{"a part", catalog.Holding{After: 15, Upto: 25, Generation: 7, Rows: 2}, true},
		{"damaged", catalog.Holding{After: 15, Upto: 25}, false},
		{"before", catalog.Holding{After: 5, Upto: 10, Rows: 2}, false},
		{"behind", catalog.Holding{After: 20, Upto: 25, Rows: 2}, false},
	} {
		if got := e.excludes(c.h); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

// An old copy of the log, and the segment that has its records is gone: a repair lists the
// records, which it cannot keep, one by one.
func TestRepairListsWhatItGivesUp(t *testing.T) {
	m := &mixedStore{t: t, dir: filepath.Join(t.TempDir(), "store")}
	m.live(m.dir, "own", "3S3")
	old := filepath.Join(t.TempDir(), "old")
	m.must(os.CopyFS(old, os.DirFS(m.dir)))
	m.live(m.dir, "later", "S4S")
	m.takeLog(old)
	m.must(os.Remove(segmentPaths(t, m.dir)[1]))
	p, err := Repair(t.Context(), m.dir, RepairOptions{})
	m.must(err)
	if p.Refused == nil || p.LogKept || p.GivenUpEntries != 3 || positionSet(p.GivenUp).count() != 3 || !p.OpenEnd {
		t.Errorf("%+v", p)
	}
	report, err := os.ReadFile(p.Quarantine + catalog.ReportSuffix)
	if err != nil || !strings.Contains(string(report), "given up:    3 intact records with 3 entries") {
		t.Errorf("%v: %s", err, report)
	}
	s := openTest(t, m.dir, small())
	if lines, err := tallyThrough(t, s); lines != "own 3 later 4" || err != nil {
		t.Errorf("%q, %v", lines, err)
	}
	if l := losses(s.Report()); len(l) == 0 {
		t.Errorf("the gap is not told: %v", s.Report())
	}
}
