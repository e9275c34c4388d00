package logstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// hasVersion1 checks that a store has the entries of those of version 1, once.
func hasVersion1(t *testing.T, dir string) {
	t.Helper()
	s := openTest(t, dir, version1Options())
	defer s.Close()
	got, errs := queried(s, Forward)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	sameCounts(t, dir, counted(got), counted(version1Contents()))
}

// Segments of version 1 do not tell the positions of their entries. They are imported
// once all the same, before and after a compaction.
func TestImportOfVersion1(t *testing.T) {
	for _, name := range []string{"sealed", "merged", "unsealed"} {
		src, to := unpackStore(t, "v1", name), filepath.Join(t.TempDir(), "to")
		all := int64(len(version1Contents()))
		if got := testImport(t, to, src)[0]; got.Kept != all || got.Damaged != 0 {
			t.Errorf("%s: %+v; want %d", name, got, all)
		}
		s := openTest(t, src, version1Options())
		if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil {
			t.Fatal(err)
		}
		if got := testImport(t, to, src)[0]; got.Kept != 0 || got.Known != all || got.Damaged != 0 {
			t.Errorf("%s, compacted: %+v; want %d", name, got, all)
		}
		hasVersion1(t, to)
	}
}

// Without the log nothing tells whose positions a segment of version 1 has. So once the log
// is back, what was imported before is refused.
func TestImportOfVersion1WithoutItsLog(t *testing.T) {
	src, to := unpackStore(t, "v1", "sealed"), filepath.Join(t.TempDir(), "to")
	mend := hide(t, filepath.Join(src, logDir))
	first := testImport(t, to, src)[0]
	if got := testImport(t, to, src)[0]; got.Kept != 0 || got.Known != first.Kept || first.Kept == 0 || got.Damaged != first.Damaged {
		t.Errorf("%+v, then %+v", first, got)
	}
	file := filepath.Join(t.TempDir(), "alone")
	copyFile(t, file, segmentOf(t, src, 0))
	if got := testImport(t, to, file)[0]; got.Kept != 0 || got.Known == 0 {
		t.Errorf("a copy: %+v", got)
	}
	mend()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(elsewhere, os.DirFS(src)); err != nil {
		t.Fatal(err)
	}
	refused := func(from string) {
		t.Helper()
		if _, err := Import(t.Context(), to, ImportOptions{store: small()}, from); !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "was imported without the log") {
			t.Errorf("%v", err)
		}
	}
	refused(src)
	refused(elsewhere)
	// The log alone has what else there is.
	if got := testImport(t, to, filepath.Join(src, logDir))[0]; first.Kept+got.Kept != int64(len(version1Contents())) {
		t.Errorf("the log: %+v; the segments had %d", got, first.Kept)
	}
	hasVersion1(t, to)
	s := openTest(t, src, version1Options())
	if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	refused(src)
}

// A damaged segment that was salvaged meanwhile does not count as complete: its original
// may come back.
func TestImportOfASalvagedSegment(t *testing.T) {
	src, to := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "to")
	storeOfParts(t, src)
	file := segmentOf(t, src, 1)
	original := filepath.Join(t.TempDir(), "original")
	copyFile(t, original, file)
	flipAt(t, file, middleOfABlock(t, file))
	first := testImport(t, to, src)[0]
	s := openTest(t, src, anyTime())
	if _, err := drain(s); err == nil {
		t.Error("nothing is damaged")
	}
	if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(src, catalog.QuarantineDir, filepath.Base(file))); err != nil {
		t.Error(err)
	}
	if got := testImport(t, to, src)[0]; got.Kept != 0 || got.Known != first.Kept || got.Damaged != 0 {
		t.Errorf("salvaged: %+v; want %+v", got, first)
	}
	if got := testImport(t, to, original)[0]; got.Kept+first.Kept != 4*inPart {
		t.Errorf("the original: %+v; first %+v", got, first)
	}
	once(t, to)
}
