package logstore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/wal"
)

// repairAndOpen repairs a store, opens it, and compares it with the ledger and the
// plan p that was made before.
func repairAndOpen(t *testing.T, dir string, p *RepairPlan, l ledger) {
	t.Helper()
	old := contentOf(t, filepath.Join(dir, logDir))
	done, err := Repair(t.Context(), dir, RepairOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Refused == nil {
		if done.Quarantine != "" {
			t.Errorf("a sound log is in %s", done.Quarantine)
		}
		return
	}
	if fmt.Sprint(done.Lost, done.Kept, done.First, done.Next) != fmt.Sprint(p.Lost, p.Kept, p.First, p.Next) {
		t.Errorf("done: %+v; the plan was %+v", done, p)
	}
	got := contentOf(t, done.Quarantine)
	delete(got, "LOCK")
	delete(old, "LOCK")
	if !maps.Equal(got, old) {
		t.Errorf("in quarantine are %v; the old log had %v", slices.Collect(maps.Keys(got)), slices.Collect(maps.Keys(old)))
	}
	report, err := os.ReadFile(done.Quarantine + catalog.ReportSuffix)
	if err != nil || !strings.Contains(string(report), fmt.Sprintf("lost:        %d positions: ", p.LostPositions())) {
		t.Errorf("report: %v\n%s", err, report)
	}
	checkRepaired(t, dir, p, l, false)
}

// checkGivenUp checks that a store has told what its repair gave up, or that it has not,
// if another Open has told it.
func checkGivenUp(t *testing.T, s *Store, p *RepairPlan, told bool) {
	t.Helper()
	var lost []PositionRange
	ends, deletions := 0, 0
	for _, e := range s.Report().Events {
		switch {
		case e.Kind == EventUndeleted:
			deletions++
		case e.Kind != EventGap || !strings.HasPrefix(e.Reason, "a repair has given"):
		case e.Upto == 0 && e.Position == p.Next:
			ends++
		default:
			lost = append(lost, PositionRange{e.After + 1, e.Upto})
		}
	}
	want := slices.Clone(p.Lost)
	wantEnds, wantDeletions := 0, 0
	if p.OpenEnd {
		wantEnds = 1
	}
	if len(want) > 0 || p.OpenEnd {
		wantDeletions = 1
	}
	if told {
		want, wantEnds, wantDeletions = nil, 0, 0
	}
	if !slices.Equal(lost, want) || ends != wantEnds || deletions != wantDeletions {
		t.Errorf("Open tells that %v are lost, want %v; %d ends, want %d; deletions %d times, want %d: %v",
			lost, want, ends, wantEnds, deletions, wantDeletions, s.Report())
	}
	if st := s.Stats(); st.MissingPositions < int64(positionSet(want).count()) || st.Gaps < int64(len(want)+wantEnds) {
		t.Errorf("Stats has %d gaps and %d positions", st.Gaps, st.MissingPositions)
	}
}

// checkRepaired opens a repaired store. Each line of the ledger is there once, or was
// told as lost, by this Open or one before.
func checkRepaired(t *testing.T, dir string, p *RepairPlan, l ledger, told bool) {
	t.Helper()
	for _, name := range []string{repairDir, filepath.Join(logDir, repairMark)} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	s := openTest(t, dir, small())
	if err := s.replay.failure(); err != nil {
		t.Fatal(err)
	}
	if _, next := s.log.Bounds(); next != p.Next && (next != p.Next+1 || s.roster.whole != p.Next) { // Open has written a roster
		t.Errorf("the next position is %d; want %d", next, p.Next)
	}
	checkGivenUp(t, s, p, told)
	lostRows := 0
	for _, d := range p.Segments {
		lostRows += int(d.Lost)
	}
	if err := s.Compact(t.Context()); err != nil { // salvages too
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, k := range contents(t, s) {
		got[k.line]++
	}
	missing := 0
	for pos, line := range l {
		n := got[line]
		delete(got, line)
		at := PositionRange{pos, pos}
		switch {
		case positionSet(p.Lost).has(at) || p.OpenEnd && pos >= p.Next || p.SegmentCount == 0 && pos < p.First:
			if n != 0 {
				t.Errorf("position %d was told as lost, and is there %d times", pos, n)
			}
		case n > 1 || n == 0 && positionSet(p.Kept).has(at):
			t.Errorf("position %d is there %d times", pos, n)
		case n == 0:
			missing++
		}
	}
	if missing > lostRows {
		t.Errorf("%d lines are missing; segments lost %d", missing, lostRows)
	}
	if len(got) > 0 {
		t.Errorf("lines that were never appended: %v", got)
	}
	mustAppend(t, s, one(MustLabels("app", "after"), 1, "after the repair"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(copyStore(t, dir), small()); err != nil {
		t.Error(err)
	} else {
		checkGivenUp(t, s, p, true)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	again, err := PlanRepair(t.Context(), dir, RepairOptions{})
	if err != nil || again.Refused != nil || again.Interrupted {
		t.Errorf("repaired, and then: %v, %+v", err, again)
	}
}

// contentOf returns the files of a directory, nothing if there is none.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return files
	}
	for _, e := range entries {
		p, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(p)
	}
	return files
}

// A repair that ends at any step leaves the old store or the new one, and the next
// repair completes it.
func TestRepairIsInterrupted(t *testing.T) {
	whole := t.TempDir()
	l := repairable(t, whole, true)
	steps := []string{"mark", "create", "close", "publish", "publish again", "report", "move", "unmark"}
	for _, name := range []string{"records in two files", "log gone"} {
		w := logWounds[slices.IndexFunc(logWounds, func(w logWound) bool { return w.name == name })]
		for _, two := range []bool{false, true} {
			if two && name != "records in two files" {
				continue
			}
			for _, step := range steps {
				t.Run(fmt.Sprintf("%s/two=%v/%s", name, two, step), func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "store")
					if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
						t.Fatal(err)
					}
					w.wound(t, dir, logFiles(t, dir))
					p, err := PlanRepair(t.Context(), dir, RepairOptions{})
					if err != nil {
						t.Fatal(err)
					}
					checkInterruptedRepair(t, dir, p, l, step, two)
				})
			}
		}
	}
}

func checkInterruptedRepair(t *testing.T, dir string, p *RepairPlan, l ledger, step string, two bool) {
	t.Helper()
	old := contentOf(t, filepath.Join(dir, logDir))
	stopped := false
	o := RepairOptions{Quick: true, twoRenames: two, step: func(name string) error {
		if name != step {
			return nil
		}
		stopped = true
		return errStopped
	}}
	_, err := Repair(t.Context(), dir, o)
	if !stopped { // this repair has no such step
		if err != nil {
			t.Fatal(err)
		}
		checkRepaired(t, dir, p, l, false)
		return
	}
	if !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	published := slices.Contains([]string{"report", "move", "unmark"}, step)
	s, err := Open(dir, small())
	if (err == nil) != published {
		t.Errorf("opened after step %s: %v", step, err)
	}
	if err == nil {
		checkGivenUp(t, s, p, false)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	between, err := PlanRepair(t.Context(), dir, RepairOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := published || step == "publish again"; between.Interrupted != want {
		t.Errorf("interrupted at %s: %v", step, between.Interrupted)
	}
	if _, err := Repair(t.Context(), dir, RepairOptions{twoRenames: two}); err != nil {
		t.Fatal(err)
	}
	kept := false
	dirs, _ := filepath.Glob(filepath.Join(dir, catalog.QuarantineDir, quarantinedN+"*"))
	for _, q := range dirs {
		got := contentOf(t, q)
		delete(got, "LOCK")
		delete(old, "LOCK")
		if _, err := os.Stat(q + catalog.ReportSuffix); err == nil {
			kept = kept || maps.Equal(got, old) || len(old) == 0 // Open has made one where it was gone
		}
	}
	if !kept {
		t.Errorf("the old log is not in quarantine, with a report: %v", dirs)
	}
	if published {
		p.Next = between.Next // Open has begun a life
	}
	checkRepaired(t, dir, p, l, published)
}

func TestRepairNeedsSpaceAndConsent(t *testing.T) {
	dir := t.TempDir()
	repairable(t, dir, false)
	flipAt(t, logFiles(t, dir)[1], 30000)
	before := filesOf(t, dir)
	no := errors.New("no")
	_, err := Repair(t.Context(), dir, RepairOptions{Confirm: func(p *RepairPlan) error {
		if p.LostPositions() != 1 {
			t.Errorf("lost: %v", p.Lost)
		}
		if _, err := Open(dir, small()); !errors.Is(err, ErrLocked) {
			t.Errorf("Open during Confirm: %v", err)
		}
		return no
	}})
	if !errors.Is(err, no) {
		t.Errorf("refused: %v", err)
	}
	full := func(string) (sys.FSInfo, error) { return sys.FSInfo{Free: 1000}, nil }
	if _, err = Repair(t.Context(), dir, RepairOptions{statfs: full}); !errors.Is(err, ErrLowSpace) || !strings.Contains(err.Error(), "and 1000 are free; nothing was changed") {
		t.Errorf("a full disk: %v", err)
	}
	after := filesOf(t, dir)
	if len(after) != len(before) {
		t.Errorf("changed: %v; want %v", after, before)
	}
}

// Where the log is gone, the new one has the ID that the segments say.
func TestRepairKeepsTheLogID(t *testing.T) {
	whole := t.TempDir()
	repairable(t, whole, false)
	in, err := wal.Inspect(filepath.Join(whole, logDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"log gone", "log gone, then opened", "META gone", "records in two files"} {
		dir := filepath.Join(t.TempDir(), "store")
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		w := logWounds[slices.IndexFunc(logWounds, func(w logWound) bool { return w.name == name })]
		w.wound(t, dir, logFiles(t, dir))
		p, err := Repair(t.Context(), dir, RepairOptions{Quick: true})
		if err != nil {
			t.Fatal(err)
		}
		got, err := wal.Inspect(filepath.Join(dir, logDir))
		if err != nil || got.ID != in.ID || p.LogID != in.ID {
			t.Errorf("%s: the log is %s, in the plan %s, %v; want %s", name, got.ID, p.LogID, err, in.ID)
		}
	}
}
