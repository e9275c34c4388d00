package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/oldfile"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// swappable is a directory d, which holds the file f, beside a stranger's directory
// etc with a file of that name. swap replaces d with a symlink to etc.
func swappable(t *testing.T) (top string, old *os.File, swap func()) {
	t.Helper()
	top = t.TempDir()
	for _, dir := range []string{"d", "etc"} {
		must(t, os.Mkdir(filepath.Join(top, dir), 0o755))
		must(t, os.WriteFile(filepath.Join(top, dir, "f"), []byte("old of "+dir), 0o644))
	}
	old, err := os.Open(filepath.Join(top, "d", "f"))
	must(t, err)
	t.Cleanup(func() { old.Close() })
	return top, old, func() {
		d := filepath.Join(top, "d")
		must(t, os.Rename(d, filepath.Join(top, "moved")))
		must(t, os.Symlink("etc", d))
	}
}

func content(t *testing.T, path, want string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%s: %q, %v, want %q", path, b, err, want)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Replacing an open file leaves a file of the same name in another directory alone,
// also if that directory has taken the path of the first.
func TestHeldFileDirectorySwapped(t *testing.T) {
	top, old, swap := swappable(t)
	o := Options{Level: durability.Kill, Keep: KeepMode}
	oldfile.Set(&o, old)
	name := filepath.Join(top, "d", "f")
	swap()
	f, err := Create(name, 0o644, o)
	if err == nil {
		f.Abort()
	}
	if !errors.Is(err, syscall.EBUSY) {
		t.Errorf("Create: %v", err)
	}
	b := NewBatch(o)
	defer b.Abort()
	if err := b.Add(name, []byte("new"), 0o644); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("Add: %v", err)
	}
	content(t, filepath.Join(top, "etc", "f"), "old of etc")
	content(t, filepath.Join(top, "moved", "f"), "old of d")
}

// Between Create and Commit the path may come to lead elsewhere. The file stays in its
// directory, and takes the name only from the old file.
func TestHeldFileMovedBeforeCommit(t *testing.T) {
	top, old, swap := swappable(t)
	o := Options{Level: durability.Kill, Keep: KeepMode}
	oldfile.Set(&o, old)
	f, err := Create(filepath.Join(top, "d", "f"), 0o644, o)
	must(t, err)
	swap()
	_, err = f.Write([]byte("new"))
	must(t, err)
	must(t, f.Commit())
	content(t, filepath.Join(top, "etc", "f"), "old of etc")
	content(t, filepath.Join(top, "moved", "f"), "new")

	for _, gone := range []bool{true, false} {
		top, old, _ := swappable(t)
		oldfile.Set(&o, old)
		name := filepath.Join(top, "d", "f")
		f, err := Create(name, 0o644, o)
		must(t, err)
		must(t, os.Remove(name))
		if !gone {
			must(t, os.WriteFile(name, []byte("another"), 0o600))
		}
		if err := f.Commit(); !errors.Is(err, syscall.EBUSY) {
			t.Errorf("gone %v: %v", gone, err)
		}
		if !gone {
			content(t, name, "another")
		}
	}
}
