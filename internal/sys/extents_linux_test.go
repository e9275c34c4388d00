package sys

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestExtents(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := LayoutOf(f)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, l.Block)
	block[0] = 'x'
	for _, at := range []int64{0, 1, 5} {
		if _, err := f.WriteAt(block, at*l.Block); err != nil {
			t.Fatal(err)
		}
	}
	has := func(want ...int64) { // these blocks are allocated
		t.Helper()
		list, err := Extents(f)
		if Absent(err) {
			t.Skipf("the file system of temporary files does not tell the extents of a file: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, e := range list {
			for off := e.Off; off < e.Off+e.Len; off += l.Block {
				got = append(got, off/l.Block)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the blocks %v have room, want %v", got, want)
		}
	}
	has(0, 1, 5)
	if !l.Shifts() {
		return
	}
	if err := InsertRange(f, l.Block, 2*l.Block); err != nil {
		t.Fatal(err)
	}
	has(0, 3, 7)
	if err := CollapseRange(f, 0, 3*l.Block); err != nil {
		t.Fatal(err)
	}
	has(0, 4)
	if b, err := os.ReadFile(f.Name()); err != nil || int64(len(b)) != 5*l.Block || !bytes.HasPrefix(b, block) || !bytes.HasSuffix(b, block) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if err := InsertRange(f, 1, l.Block); !CannotShift(err) {
		t.Errorf("a shift at byte 1: %v", err)
	}
}
