package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stele-go/stele/durability"
)

// The records of a log alone are imported, and damage of it is told.
func TestImportOfALog(t *testing.T) {
	dir, to := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "to")
	storeOfParts(t, dir)
	file := walWith(t, dir, "line 500 ")
	flipAt(t, file, indexIn(t, file, "line 500 "))
	p, err := Repair(t.Context(), dir, RepairOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := testImport(t, to, p.Quarantine)[0]
		if got.Kept+got.Known != inPart-1 || got.Damaged == 0 {
			t.Errorf("%+v", got)
		}
	}
	// The store has the same log, of which the old one has nothing more, but for what
	// is mended.
	if got := testImport(t, dir, p.Quarantine)[0]; got.Kept != 0 || got.Damaged == 0 {
		t.Errorf("into the store: %+v", got)
	}
	old := filepath.Join(p.Quarantine, filepath.Base(file))
	flipAt(t, old, indexIn(t, old, string([]byte{'l' ^ 4})+"ine 500 "))
	for i, d := range []string{to, dir} {
		for kept := int64(1); kept >= 0; kept-- {
			if got := testImport(t, d, p.Quarantine)[0]; got.Kept != kept || got.Damaged != 0 {
				t.Errorf("mended, %d: %+v; want %d", i, got, kept)
			}
		}
	}
	once(t, dir)
	if runtime.GOOS == "linux" {
		openTest(t, dir, anyTime())
		if _, err := Import(t.Context(), to, ImportOptions{store: small()}, filepath.Join(dir, logDir)); !errors.Is(err, ErrLocked) {
			t.Errorf("an open log: %v", err)
		}
	}
}

// The whole records of a torn tail that Open has moved to quarantine are imported.
func TestImportOfATornTail(t *testing.T) {
	to := filepath.Join(t.TempDir(), "to")
	o := anyTime()
	o.Level = durability.Kill
	live := t.TempDir()
	s := openTest(t, live, o)
	for i := range 10 {
		mustAppend(t, s, one(MustLabels("app", "a"), int64(i), fmt.Sprintf("line %d .", i)))
	}
	dir := copyStore(t, live) // as a crash leaves it
	file := walWith(t, dir, "line 9 ")
	flipAt(t, file, indexIn(t, file, "line 4 "))
	s = openTest(t, dir, o)
	torn := s.Report().Events[0].File
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := testImport(t, to, torn)[0]; got.Kept+got.Known != 5 || got.Damaged == 0 {
			t.Errorf("%+v", got)
		}
	}
	for i := range 5 {
		if line := fmt.Sprintf("/line %d .", i+5); linesIn(t, to)[line] != 1 {
			t.Errorf("%q is not there once", line)
		}
	}
	// Into the store itself: its positions are those of other records by now.
	s = openTest(t, dir, o)
	mustAppend(t, s, one(MustLabels("app", "a"), 99, "after"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := testImport(t, dir, torn)[0]; got.Kept != 5 {
		t.Errorf("%+v", got)
	}
	if got := linesIn(t, dir); len(got) != 10 {
		t.Errorf("%v", got)
	}
	named := filepath.Join(t.TempDir(), "other.wal")
	copyFile(t, named, torn)
	if _, err := Import(t.Context(), to, ImportOptions{store: small()}, named); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
