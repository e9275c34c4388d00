package atomicfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stele-go/stele/atomicfile"
)

func TestBatch(t *testing.T) {
	syncs := []atomicfile.Sync{atomicfile.SyncAuto, atomicfile.SyncEach}
	if runtime.GOOS == "linux" {
		syncs = append(syncs, atomicfile.SyncWholeFS)
	}
	for _, s := range syncs {
		dir := t.TempDir()
		must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
		put(t, dir, "0", "old")
		b := atomicfile.NewBatch(atomicfile.Options{Sync: s})
		var want []string
		for i := range 20 {
			name := fmt.Sprint(i)
			must(t, b.Add(filepath.Join(dir, name), []byte(name), 0o600))
			must(t, b.Add(filepath.Join(dir, "d", name), []byte(name), 0o600))
			want = append(want, name)
		}
		must(t, b.Add(filepath.Join(dir, "1"), []byte("later"), 0o600))
		if err := b.Add(filepath.Join(dir, "no/f"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Add: %v", err)
		}
		holds(t, filepath.Join(dir, "0"), "old")
		must(t, b.Commit())
		only(t, filepath.Join(dir, "d"), want...)
		only(t, dir, append(want, "d")...)
		holds(t, filepath.Join(dir, "0"), "0")
		holds(t, filepath.Join(dir, "1"), "later")
		holds(t, filepath.Join(dir, "d/19"), "19")
		b.Abort()
		for _, err := range []error{b.Commit(), b.Add("f", nil, 0o600)} {
			if !errors.Is(err, fs.ErrClosed) {
				t.Errorf("after Commit: %v", err)
			}
		}
	}
}

// A file that fails does not fail the others.
func TestBatchPart(t *testing.T) {
	dir := t.TempDir()
	d, err := atomicfile.OpenDir(dir, kill)
	must(t, err)
	defer d.Close()
	b := d.Batch()
	for _, name := range []string{"a", "b", "c"} {
		must(t, b.Add(name, []byte("new"), 0o600))
	}
	must(t, os.MkdirAll(filepath.Join(dir, "b/x"), 0o755))
	var pe *fs.PathError
	if err := b.Commit(); !errors.As(err, &pe) || pe.Path != filepath.Join(dir, "b") || pe.Op != "rename" {
		t.Errorf("got %v", err)
	}
	only(t, dir, "a", "b", "c")
	holds(t, filepath.Join(dir, "c"), "new")

	b = d.Batch()
	must(t, b.Add("d", bytes.Repeat([]byte("x"), 10_000), 0o600))
	b.Abort()
	only(t, dir, "a", "b", "c")
}
