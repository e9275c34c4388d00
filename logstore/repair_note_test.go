package logstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A repair says which deletions it gives up, and the first Open after it says so too.
func TestRepairGivesUpDeletions(t *testing.T) {
	o := anyTime()
	for _, c := range []struct {
		name  string
		wound func(dir string) error
	}{
		{"the log is lost", func(dir string) error { return os.RemoveAll(filepath.Join(dir, logDir)) }},
		{"META is lost", func(dir string) error { return os.Remove(filepath.Join(dir, logDir, "META")) }}, // the deletion is kept
	} {
		dir := sealedStore(t, o, 2)
		s := openTest(t, dir, o)
		if _, err := s.Delete(t.Context(), Deletion{From: 1000}); err != nil {
			t.Fatal(err)
		}
		if n, err := drain(s); n != 3 || err != nil {
			t.Fatalf("%d lines, %v; want 3", n, err)
		}
		if err := errors.Join(s.Close(), c.wound(dir)); err != nil {
			t.Fatal(err)
		}
		p, err := Repair(t.Context(), dir, RepairOptions{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := os.ReadFile(p.Quarantine + ".txt")
		gone := p.OpenEnd || len(p.Lost) > 0
		if err != nil || len(p.Deletions) != 0 || strings.Contains(string(report), "delete them again") != gone {
			t.Errorf("%s: %v, %v in\n%s", c.name, p.Deletions, err, report)
		}
		s = openTest(t, dir, o)
		n, err := drain(s)
		told := 0
		for _, e := range s.Report().Events {
			if e.Kind == EventUndeleted && strings.Contains(e.Reason, "delete them again") {
				told++
			}
		}
		if err != nil || (n == 6) != (told == 1) || (n == 6) != (c.name == "the log is lost") {
			t.Errorf("%s: %d lines are found, %v, and it is told %d times", c.name, n, err, told)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The deletions that a plan gives up are those of records that it does not keep.
func TestPlanDeletions(t *testing.T) {
	o := anyTime()
	o.logSegmentSize = 64 << 10
	dir := t.TempDir()
	s := openTest(t, dir, o)
	sealSome(t, s, 0)
	for i := range int64(3) {
		if _, err := s.Delete(t.Context(), Deletion{Selector: Selector{{Name: "a", Op: Equal, Value: "b"}}, From: i, To: i + 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all := salvageContents(filepath.Join(dir, logDir)).deletions
	if len(all) != 3 {
		t.Fatalf("%d deletions; want 3", len(all))
	}
	p := &RepairPlan{LogDir: filepath.Join(dir, logDir), Refused: errors.New("damaged"), Kept: []PositionRange{{all[1].logged, all[1].logged}}}
	p.planDeletions(nil)
	if len(p.Deletions) != 2 || p.Deletions[0].From != 0 || p.Deletions[1].From != 2 {
		t.Errorf("given up are %v", p.Deletions)
	}
	if got, want := p.Deletions[1].String(), `{a="b"} from 1970-01-01T00:00:00.000000002Z to before 1970-01-01T00:00:00.000000003Z`; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	if note := string(p.note("log-x")); note != "log log-x\ndeletions 2\n" {
		t.Errorf("the note is %q", note)
	}
}
