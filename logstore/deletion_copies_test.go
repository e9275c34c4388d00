package logstore

import (
	"path/filepath"
	"slices"
	"testing"
)

// deletedLinesStore returns a store that is sealed in part, with a pending deletion of lines
// and one that was cancelled; kept are its lines.
func deletedLinesStore(t *testing.T, dir string) (s *Store, d Deletion, position uint64, kept []string) {
	t.Helper()
	s = deletionStore(t, dir)
	all := linesOf(t, s, Query{})
	cancelled := mustDelete(t, s, Deletion{Lines: []LineMatch{{Equal, "b"}}})
	d = Deletion{Selector: app("a"), Lines: lines5}
	position = mustDelete(t, s, d)
	mustDo(t, s.CancelDeletion(t.Context(), "", cancelled))
	if kept = linesOf(t, s, Query{}); len(kept) == len(all) || len(kept) == 0 {
		t.Fatalf("%d lines of %d", len(kept), len(all))
	}
	return s, d, position, kept
}

// A snapshot has the pending deletions of lines, and not those that were cancelled.
func TestSnapshotOfDeletedLines(t *testing.T) {
	s, _, _, kept := deletedLinesStore(t, t.TempDir())
	for _, step := range []string{"before a seal", "after a seal"} {
		dir := filepath.Join(t.TempDir(), "snapshot")
		if _, err := s.Snapshot(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		r, err := OpenReadOnly(dir, small())
		if err != nil {
			t.Fatal(err)
		}
		if got := linesOf(t, r, Query{}); !slices.Equal(got, kept) {
			t.Errorf("%s, read only, the snapshot has %q; want %q", step, got, kept)
		}
		mustDo(t, r.Close())
		c := openTest(t, dir, small())
		<-c.Ready()
		if got := linesOf(t, c, Query{}); !slices.Equal(got, kept) {
			t.Errorf("%s, the snapshot has %q; want %q", step, got, kept)
		}
		mustDo(t, c.Compact(t.Context()))
		if got := linesOf(t, c, Query{}); !slices.Equal(got, kept) || len(c.Deletions()) != 0 {
			t.Errorf("%s, after a compaction the snapshot has %q; want %q; pending are %+v", step, got, kept, c.Deletions())
		}
		mustSeal(t, s)
	}
}

// Import leaves out what is deleted where it comes from, and a deletion of the store that
// imports has no part in it.
func TestImportOfDeletedLines(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	s, d, _, kept := deletedLinesStore(t, from)
	mustDo(t, s.Close())
	target := openTest(t, to, anyTime())
	mustDelete(t, target, Deletion{Lines: []LineMatch{{Equal, "b"}}})
	mustDo(t, target.Close())
	for range 2 { // the second time there is nothing new
		if _, err := Import(t.Context(), to, ImportOptions{Memory: minMemory}, from); err != nil {
			t.Fatal(err)
		}
		target = openTest(t, to, anyTime())
		got, want := linesOf(t, target, Query{}), slices.Clone(kept)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("imported are %q; want %q", got, want)
		}
		mustDo(t, target.Close())
	}
	target = openTest(t, to, anyTime())
	mustDelete(t, target, d)
	if got := linesOf(t, target, Query{}); len(got) != len(kept) {
		t.Errorf("%d lines after the same deletion; want %d", len(got), len(kept))
	}
}

// A repair that keeps the records of a deletion keeps it; one that gives them up says which
// pending deletion of lines that was, and not one that was cancelled.
func TestRepairOfDeletedLines(t *testing.T) {
	s, d, position, kept := deletedLinesStore(t, t.TempDir())
	mustDo(t, s.Append(t.Context(), one(MustLabels("app", "c"), 500, "last")))
	dir := copyStore(t, s.dir)
	kept = append(slices.Clone(kept), "last")
	files, err := filepath.Glob(filepath.Join(dir, logDir, "*.wal"))
	mustDo(t, err)
	last, err := Inspect(dir)
	if err != nil || len(last.Deletions) != 1 || last.Deletions[0].Position != position || len(last.Deletions[0].Lines) != len(d.Lines) {
		t.Fatalf("Inspect: %+v, %v", last.Deletions, err)
	}
	flipAt(t, files[0], 4096+40) // in the first record
	p, err := Repair(t.Context(), dir, RepairOptions{})
	if err != nil {
		t.Fatal(err)
	}
	again := openTest(t, dir, anyTime())
	<-again.Ready()
	for _, line := range linesOf(t, again, Query{}) {
		deleted := !slices.Contains(kept, line)
		given := slices.ContainsFunc(p.Deletions, func(g Deletion) bool { return slices.Equal(g.Lines, d.Lines) })
		if deleted && !given {
			t.Errorf("%q is back, and the plan gives up the deletions %+v", line, p.Deletions)
		}
	}
	if len(p.Deletions) > 1 {
		t.Errorf("deletions %+v are given up; one is pending", p.Deletions)
	}
}
