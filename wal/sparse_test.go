package wal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
)

// A segment of 128 MiB takes 8 KiB on the disk, and the head of a record in it
// claims the maximum length: little memory is allocated for it. A LOCK of 1 GiB
// is not read.
func TestSparseFilesTakeLittleMemory(t *testing.T) {
	dir := t.TempDir()
	m := newMeta()
	if err := os.WriteFile(filepath.Join(dir, metaName), metaFile(m), 0o666); err != nil {
		t.Fatal(err)
	}
	g := &segment{path: filepath.Join(dir, segmentName(1)), number: 1, size: 128 << 20, salt: 7, seed: seedOf(7)}
	f, err := os.Create(g.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec := g.appendRecord(nil, firstOffset, typeData, 1, 0, 0, make([]byte, MaxRecord))
	for _, w := range []struct {
		off int64
		b   []byte
	}{{0, g.header(m.id)}, {firstOffset, rec[:headerSize]}} {
		if _, err := f.WriteAt(w.b, w.off); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(g.size); err != nil {
		t.Skip("no sparse files here:", err)
	}
	lock, err := os.Create(filepath.Join(dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := lock.Truncate(1 << 30); err != nil {
		t.Skip("no sparse files here:", err)
	}

	n := filetest.Allocated(func() {
		report, err := Verify(dir)
		if err != nil || report.Next != 1 || report.Torn == nil {
			t.Errorf("Verify: %+v, %v; want a torn record", report, err)
		}
		in, err := Inspect(dir)
		if err != nil {
			t.Fatal(err)
		}
		for range in.Segments() {
		}
		readHolder(lock)
	})
	if n > 6*(MaxRecord+1) {
		t.Errorf("%d MiB of memory; want 96 at most", n>>20)
	}
}
