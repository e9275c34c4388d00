package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// OpenExact opens a regular file as os.OpenFile does. For another file the error tells
// its type.
func TestOpenExact(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, write := range []bool{false, true} {
		f, err := OpenExact(name, write)
		if err != nil {
			t.Fatal(err)
		}
		if b := make([]byte, 4); true {
			if _, err := f.ReadAt(b, 0); err != nil || string(b) != "text" {
				t.Errorf("%q, %v", b, err)
			}
		}
		if _, err := f.WriteAt([]byte("t"), 0); (err == nil) != write {
			t.Errorf("writing: %v", err)
		}
		f.Close()
		if _, err := OpenExact(filepath.Join(dir, "none"), write); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		_, err = OpenExact(dir, write)
		if e, ok := errors.AsType[*NotRegularError](err); !ok || e.Mode != fs.ModeDir || !errors.Is(err, fs.ErrInvalid) || err.Error() != "a directory; want a regular file: invalid argument" {
			t.Errorf("a directory: %v", err)
		}
		link := filepath.Join(t.TempDir(), "link")
		if runtime.GOOS == "windows" { // links need a privilege, and under Wine are not found
			continue
		}
		if err := os.Symlink(name, link); err != nil {
			t.Fatal(err)
		}
		_, err = OpenExact(link, write)
		if e, ok := errors.AsType[*NotRegularError](err); !ok || e.Mode != fs.ModeSymlink {
			t.Errorf("a symlink: %v", err)
		}
	}
}
