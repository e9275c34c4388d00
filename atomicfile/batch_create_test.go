package atomicfile_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/atomicfile"
)

// A file of Create is the batch's from Include on, and not before.
func TestBatchCreate(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "in", "old")
	put(t, dir, "out", "old")
	b := atomicfile.NewBatch(atomicfile.Options{})
	defer b.Abort()
	in, err := b.Create(filepath.Join(dir, "in"), 0o644)
	must(t, err)
	out, err := b.Create(filepath.Join(dir, "out"), 0o644)
	must(t, err)
	for _, f := range []*atomicfile.File{in, out} {
		_, err := f.Write([]byte("new"))
		must(t, err)
		conn, err := f.SyscallConn()
		must(t, err)
		called := false
		must(t, conn.Control(func(uintptr) { called = true }))
		if !called {
			t.Error("no descriptor")
		}
	}
	must(t, b.Include(in))
	must(t, b.Commit())
	holds(t, filepath.Join(dir, "in"), "new")
	holds(t, filepath.Join(dir, "out"), "old")
	if err := in.Err(); err != nil {
		t.Errorf("committed: %v", err)
	}
	if _, err := in.SyscallConn(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a descriptor of a committed file: %v", err)
	}
	if err := b.Include(out); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("included behind Commit: %v", err)
	}
	only(t, dir, "in", "out")

	// What failed says so, and the others are committed.
	put(t, dir, "taken", "old")
	b = atomicfile.NewBatch(atomicfile.Options{NoReplace: true})
	taken, err := b.Create(filepath.Join(dir, "taken"), 0o644)
	must(t, err)
	free, err := b.Create(filepath.Join(dir, "free"), 0o644)
	must(t, err)
	must(t, errors.Join(b.Include(taken), b.Include(free)))
	if err := b.Commit(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if err := taken.Err(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if err := free.Err(); err != nil {
		t.Errorf("%v", err)
	}
	only(t, dir, "in", "out", "taken", "free")
}
