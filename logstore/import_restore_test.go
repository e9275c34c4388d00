package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// countMissing opens a store and returns how many events tell that something is missing.
func countMissing(t *testing.T, dir string) (n int) {
	t.Helper()
	s := openTest(t, dir, anyTime())
	defer s.Close()
	for _, e := range s.Report().Events {
		if e.Kind == EventMissing || e.Kind == EventGap {
			n++
		}
	}
	return n
}

// whole checks that nothing tells a loss of a store of parts, or of what is left of it.
func isWhole(t *testing.T, dir string) {
	t.Helper()
	if n := countMissing(t, dir); n > 0 {
		t.Errorf("%d events tell that something is missing", n)
	}
	p, err := PlanRepair(t.Context(), dir, RepairOptions{})
	if err != nil || p.Refused != nil || len(p.Missing) > 0 || len(p.Segments) > 0 {
		t.Errorf("%v: %+v", err, p)
	}
	s, err := OpenReadOnly(dir, anyTime())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, err := range s.Query(t.Context(), Query{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Snapshot(t.Context(), filepath.Join(t.TempDir(), "snapshot")); err != nil {
		t.Error(err)
	}
}

// Import puts a segment that the store misses back in its place, from whatever source.
func TestImportPutsBack(t *testing.T) {
	parent := t.TempDir()
	whole, snapshot := filepath.Join(parent, "whole"), filepath.Join(parent, "snapshot")
	storeOfParts(t, whole)
	s := openTest(t, whole, anyTime())
	if _, err := s.Snapshot(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	lone := filepath.Join(parent, "any name")
	copyFile(t, lone, segmentOf(t, whole, 1))
	damaged := filepath.Join(parent, "damaged")
	copyFile(t, damaged, lone)
	flipAt(t, damaged, middleOfABlock(t, damaged))
	for _, c := range []struct {
		name, source string
		gone         []int
		kept         int64
		restored     int
		known        int64
	}{
		{"a segment", lone, []int{1}, inPart, 1, 0},
		{"a directory", filepath.Join(snapshot, catalog.SegmentDir), []int{0, 2}, 2 * inPart, 2, inPart},
		{"a snapshot", snapshot, []int{0, 1, 2}, 3 * inPart, 3, 0},
		{"all segments and their directory", snapshot, nil, 3 * inPart, 3, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			for _, i := range slices.Backward(c.gone) {
				remove(t, segmentOf(t, dir, i))
			}
			if c.gone == nil {
				remove(t, filepath.Join(dir, catalog.SegmentDir))
			}
			if countMissing(t, dir) == 0 {
				t.Error("nothing is missing")
			}
			want := ImportResult{Source: c.source, Kept: c.kept, Restored: c.restored, Known: c.known}
			if got := testImport(t, dir, c.source)[0]; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%+v; want %+v", got, want)
			}
			isWhole(t, dir)
			once(t, dir)
			if c.source == snapshot {
				if _, err := Import(t.Context(), dir, ImportOptions{store: small()}, snapshot); !errors.Is(err, fs.ErrInvalid) {
					t.Errorf("a copy: %v", err)
				}
				return
			}
			if got := testImport(t, dir, c.source)[0]; got.Kept != 0 || got.Known != c.kept+c.known || got.Restored != 0 {
				t.Errorf("again: %+v", got)
			}
			once(t, dir)
		})
	}
	t.Run("a damaged one", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "store")
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		remove(t, segmentOf(t, dir, 1))
		if got := testImport(t, dir, damaged)[0]; got.Restored != 1 {
			t.Errorf("%+v", got)
		}
		s := openTest(t, dir, anyTime())
		if err := s.Compact(t.Context()); err != nil { // salvages what is intact
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for line, n := range linesIn(t, dir) {
			if n != 1 {
				t.Errorf("%q is there %d times", line, n)
			}
		}
	})
	t.Run("not another one", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "store")
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		remove(t, segmentOf(t, dir, 1))
		other := filepath.Join(t.TempDir(), "other")
		storeOfParts(t, other)
		if got := testImport(t, dir, segmentOf(t, other, 1))[0]; got.Restored != 0 || got.Kept != inPart {
			t.Errorf("of another log: %+v", got)
		}
		if got := testImport(t, dir, segmentOf(t, whole, 0))[0]; got.Restored != 0 || got.Kept != 0 || got.Known != inPart {
			t.Errorf("one that is there: %+v", got)
		}
		if countMissing(t, dir) == 0 {
			t.Error("nothing is missing")
		}
	})
}

// A segment of a copy of the store that went on apart is imported whole, once: its positions
// mean something else. A log that went on apart is refused, as it may have entries of both.
func TestImportOfAFork(t *testing.T) {
	parent := t.TempDir()
	dir, fork := filepath.Join(parent, "store"), filepath.Join(parent, "fork")
	storeOfParts(t, dir)
	if err := os.CopyFS(fork, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for i, d := range []string{dir, fork} {
		s := openTest(t, d, anyTime())
		mustAppend(t, s, one(MustLabels("app", "apart"), 1, fmt.Sprint("only in ", i)))
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	last := segmentOf(t, fork, 3)
	for round := range 2 {
		if got := testImport(t, dir, last)[0]; got.Kept != int64(1-round) || got.Restored != 0 {
			t.Errorf("round %d: %+v", round, got)
		}
	}
	s := openTest(t, fork, anyTime())
	mustAppend(t, s, one(MustLabels("app", "apart"), 2, "beyond"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(t.Context(), dir, ImportOptions{store: small()}, filepath.Join(fork, logDir)); !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "gone on apart") {
		t.Errorf("%v", err)
	}
}

// A segment that came by its entries, as its index was damaged, does not come back beside
// them; what was missing in the first copy is imported.
func TestImportAfterADamagedCopy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	storeOfParts(t, dir)
	sound, damaged := filepath.Join(t.TempDir(), "sound"), filepath.Join(t.TempDir(), "damaged")
	file := segmentOf(t, dir, 1)
	copyFile(t, sound, file)
	copyFile(t, damaged, file)
	flipAt(t, damaged, middleOfABlock(t, damaged))
	flipAt(t, damaged, -20)
	remove(t, file)
	first := testImport(t, dir, damaged)[0]
	if first.Kept == 0 || first.Kept == inPart || first.Restored != 0 || first.Damaged == 0 {
		t.Errorf("damaged: %+v", first)
	}
	if got := testImport(t, dir, sound)[0]; got.Kept+first.Kept != inPart || got.Restored != 0 || got.Damaged != 0 {
		t.Errorf("sound: %+v; damaged %+v", got, first)
	}
	once(t, dir)
	if p, err := Repair(t.Context(), dir, RepairOptions{AcceptMissing: true}); err != nil || p.Accepted == "" {
		t.Errorf("%v", err)
	}
	isWhole(t, dir)
}

// What a salvage has lost comes back from a sound copy, and only that.
func TestImportOfWhatASalvageHasLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	storeOfParts(t, dir)
	file := segmentOf(t, dir, 1)
	sound := filepath.Join(t.TempDir(), "sound")
	copyFile(t, sound, file)
	flipAt(t, file, middleOfABlock(t, file))
	s := openTest(t, dir, anyTime())
	if _, err := drain(s); err == nil {
		t.Error("nothing is damaged")
	}
	if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	lost := 4*inPart - len(linesIn(t, dir))
	if lost == 0 {
		t.Error("nothing is lost")
	}
	for _, want := range []int{lost, 0} {
		if got := testImport(t, dir, sound)[0]; int(got.Kept) != want || got.Damaged != 0 {
			t.Errorf("%+v; want %d", got, want)
		}
	}
	once(t, dir)
}
