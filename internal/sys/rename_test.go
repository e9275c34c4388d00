package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestRenames(t *testing.T) {
	d, name := openDir(t, ForPath)
	for _, f := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(name, f), []byte(f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.RenameNew("a", "b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("RenameNew over a file: %v", err)
	}
	if err := d.RenameNew("a", "c"); err != nil {
		t.Error(err)
	}
	if err := d.Rename("c", "b"); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(name, "b")); err != nil || string(got) != "a" {
		t.Errorf("b holds %q, %v", got, err)
	}
	if err := d.Remove("b"); err != nil {
		t.Error(err)
	}
	if err := d.Remove("b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Remove of nothing: %v", err)
	}
	if err := d.Rename("b", "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Rename of nothing: %v", err)
	}
}
