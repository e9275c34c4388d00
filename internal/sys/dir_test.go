package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func openDir(t *testing.T, use DirUse) (Dir, string) {
	t.Helper()
	name := t.TempDir()
	d, err := OpenDir(name, use)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, name
}

func TestDir(t *testing.T) {
	d, name := openDir(t, ForPath)
	for _, p := range []string{"a", "a/b", "a/" + strings.Repeat("n", 250), "a/" + strings.Repeat("n", 250) + "/" + strings.Repeat("m", 250)} {
		if err := d.Mkdir(p, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := d.Mkdir(p, 0o755); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Mkdir of an existing directory: %v", err)
		}
		if fi, err := d.Lstat(p); err != nil || !fi.IsDir || fi.IsSymlink {
			t.Errorf("Lstat: %+v, %v", fi, err)
		}
	}
	if err := d.Mkdir("no/a", 0o755); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Mkdir without parent: %v", err)
	}
	for _, open := range []func(string, DirUse) (Dir, error){d.Open, beneath(d)} {
		sub, err := open("a/b", ForPath)
		if err != nil {
			t.Fatal(err)
		}
		if err := sub.Mkdir("c", 0o755); err != nil {
			t.Error(err)
		}
		if err := d.Rmdir("a/b/c"); err != nil {
			t.Error(err)
		}
		if err := sub.Close(); err != nil {
			t.Error(err)
		}
		if _, err := open("a/no", ForPath); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open of nothing: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(name, "f"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := d.Rmdir("f"); err != syscall.ENOTDIR {
		t.Errorf("Rmdir of a file: %v", err)
	}
	if err := d.Rmdir("a"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Rmdir of a full directory: %v", err)
	}
	if _, err := os.Stat(filepath.Join(name, "f")); err != nil {
		t.Error(err)
	}
}

func TestDirSync(t *testing.T) {
	if !CanSyncDir {
		t.Skip("this system cannot sync a directory")
	}
	d, _ := openDir(t, ForSync)
	if err := d.Sync(); err != nil {
		t.Error(err)
	}
}
