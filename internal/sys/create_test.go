package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestCreateFile(t *testing.T) {
	d, name := openDir(t, ForPath)
	f, err := d.CreateFile("f", "its name", 0o640, CreateNew)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("abc"); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.CreateFile("f", "", 0o640, CreateNew); !errors.Is(err, fs.ErrExist) {
		t.Errorf("CreateNew of an existing file: %v", err)
	}
	checkSize(t, d, CreateOpen, 3)
	checkSize(t, d, CreateEmpty, 0)
	if err := d.TouchFile("t", 0o600); err != nil {
		t.Error(err)
	}
	if err := d.TouchFile("t", 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("TouchFile of an existing file: %v", err)
	}
	if fi, err := os.Stat(filepath.Join(name, "t")); err != nil || !fi.Mode().IsRegular() {
		t.Errorf("touched: %v, %v", fi, err)
	}
	if err := d.TouchFile("no/t", 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("TouchFile without a parent: %v", err)
	}
}

func checkSize(t *testing.T, d Dir, use CreateUse, want int64) {
	t.Helper()
	f, err := d.CreateFile("f", "", 0o640, use)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || fi.Size() != want {
		t.Errorf("%d bytes, %v; want %d", fi.Size(), err, want)
	}
}
