package logstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// storeWithSegments makes a closed store with segments of three batches each and two
// batches in the log, and returns its entries.
func storeWithSegments(t *testing.T, dir string, segments int, compact bool) []string {
	t.Helper()
	s := openTest(t, dir, small())
	for i := range segments*3 + 2 {
		mustAppend(t, s, one(MustLabels("app", "a"), int64(100+i), fmt.Sprint(filepath.Base(dir), i)))
		if i%3 == 2 {
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if compact {
		if err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list := linesOf(t, s, Query{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return list
}

// A store whose log is gone is refused, and nothing of it is changed, until a repair
// has made a log.
func TestOpenWithoutLog(t *testing.T) {
	for _, left := range []string{"nothing", "directory", "lock"} {
		t.Run(left, func(t *testing.T) {
			dir := t.TempDir()
			storeWithSegments(t, dir, 2, false)
			log := filepath.Join(dir, logDir)
			if err := os.RemoveAll(log); err != nil {
				t.Fatal(err)
			}
			if left != "nothing" {
				if err := os.Mkdir(log, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if left == "lock" {
				if err := os.WriteFile(filepath.Join(log, "LOCK"), nil, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			before := namesIn(t, dir)
			if _, err := Open(dir, small()); err == nil || !strings.Contains(err.Error(), "is missing, and there are segments; nothing was changed") {
				t.Fatalf("Open: %v", err)
			}
			if after := namesIn(t, dir); after != before {
				t.Errorf("Open has changed the files to\n%swant\n%s", after, before)
			}
			if _, err := Repair(t.Context(), dir, RepairOptions{}); err != nil {
				t.Fatal(err)
			}
			s := openTest(t, dir, small())
			<-s.Ready()
			if got := linesOf(t, s, Query{}); len(got) != 6 {
				t.Errorf("after a repair %q; want the 6 entries of the segments", got)
			}
		})
	}
}

func namesIn(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		fmt.Fprintln(&b, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A segment of another store, put beside those of this one, takes the place of no
// segment and no record.
func TestSegmentOfAnotherStore(t *testing.T) {
	for _, compact := range []bool{false, true} {
		t.Run(fmt.Sprint("compacted=", compact), func(t *testing.T) {
			other := filepath.Join(t.TempDir(), "other")
			storeWithSegments(t, other, 5, compact)
			files, err := segmentFiles(other)
			if err != nil || len(files) == 0 {
				t.Fatalf("%v, %v", files, err)
			}
			last := files[len(files)-1]
			dir := filepath.Join(t.TempDir(), "own")
			want := storeWithSegments(t, dir, 2, false)
			p, err := os.ReadFile(last)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "segments", filepath.Base(last)), p, 0o666); err != nil {
				t.Fatal(err)
			}
			if p, err := PlanRepair(t.Context(), dir, RepairOptions{}); err != nil || p.Refused != nil {
				t.Errorf("PlanRepair: %+v, %v", p, err)
			}
			for range 2 {
				s := openTest(t, dir, small())
				<-s.Ready()
				if got := linesOf(t, s, Query{}); strings.Join(got, " ") != strings.Join(want, " ") {
					t.Errorf("%q; want %q", got, want)
				}
				if st := s.Stats(); st.Missing != 0 || st.Quarantined != 1 {
					t.Errorf("%d segments missing, %d in quarantine", st.Missing, st.Quarantined)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "quarantine", filepath.Base(last))); err != nil {
				t.Error(err)
			}
		})
	}
}

// A log of another store that still has the positions of the segments is refused, and
// nothing goes to quarantine.
func TestLogOfAnotherStore(t *testing.T) {
	other, dir := t.TempDir(), t.TempDir()
	storeWithSegments(t, dir, 2, false)
	s := openTest(t, other, small())
	for i := range 20 {
		mustAppend(t, s, one(MustLabels("app", "a"), int64(100+i), "other"))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, logDir)
	if err := os.RemoveAll(log); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(log, os.DirFS(filepath.Join(other, logDir))); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, small()); err == nil || !strings.Contains(err.Error(), "bring back the right directory") {
		t.Fatalf("Open: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "quarantine")); err != nil || len(left) > 0 {
		t.Errorf("quarantine has %v, %v", left, err)
	}
	// Nobody but a person can tell which is right. A repair keeps the log, which is sound,
	// and the segments are in quarantine, from where Import appends them.
	p, err := Repair(t.Context(), dir, RepairOptions{})
	if err != nil || p.Refused == nil || !p.LogKept || p.KeptEntries != 20 || len(p.OtherLog) != 2 {
		t.Fatalf("Repair: %+v, %v", p, err)
	}
	s = openTest(t, dir, small())
	if got := linesOf(t, s, Query{}); len(got) != 20 {
		t.Errorf("after a repair %q; want the 20 entries of the log", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(t.Context(), dir, ImportOptions{store: small()}, filepath.Join(dir, catalog.QuarantineDir)); err != nil {
		t.Fatal(err)
	}
	if got := linesOf(t, openTest(t, dir, small()), Query{}); len(got) != 26 {
		t.Errorf("after the import %q; want the 6 entries of the segments too", got)
	}
}

// A store of which the log and all segments are gone is refused too, while anything says
// that it was there.
func TestOpenWithoutAnything(t *testing.T) {
	dir := t.TempDir()
	storeWithSegments(t, dir, 2, false)
	for _, name := range []string{logDir, catalog.SegmentDir} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	const want = "is missing, and so are all segments"
	if _, err := Open(dir, small()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Open: %v", err)
	}
	if _, err := PlanRepair(t.Context(), dir, RepairOptions{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("PlanRepair: %v", err)
	}
	if names, err := os.ReadDir(dir); len(names) != 1 || err != nil {
		t.Errorf("there is %v, %v; want the quarantine", names, err)
	}
	if err := os.Mkdir(filepath.Join(dir, catalog.SegmentDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := PlanRepair(t.Context(), dir, RepairOptions{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("PlanRepair with a directory for segments: %v", err)
	}
	// What is in quarantine may be the only copy.
	torn := filepath.Join(dir, catalog.QuarantineDir, "torn-0000000000000001-00001000.wal")
	if err := os.WriteFile(torn, []byte("records"), 0o644); err != nil {
		t.Fatal(err)
	}
	const has = "has 0 segments, 0 logs and 1 torn tail of the log, perhaps the only copies: stele import"
	_, refused := Open(dir, small())
	_, noPlan := PlanRepair(t.Context(), dir, RepairOptions{})
	_, notRead := Inspect(dir)
	for _, err := range []error{refused, noPlan} {
		if err == nil || !strings.Contains(err.Error(), has) || strings.Contains(err.Error(), "remove ") {
			t.Errorf("%v", err)
		}
	}
	if notRead != nil { // there is a directory for segments
		t.Errorf("Inspect: %v", notRead)
	}
	if err := os.RemoveAll(filepath.Join(dir, catalog.QuarantineDir)); err != nil {
		t.Fatal(err)
	}
	if n, err := drain(openTest(t, dir, small())); n != 0 || err != nil {
		t.Errorf("a new store: %d entries, %v", n, err)
	}
}
