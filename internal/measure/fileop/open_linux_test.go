package fileop

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestRedirect(t *testing.T) {
	dir := t.TempDir()
	open := func(name, content string) *os.File {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	to, from := open("a", "a"), open("b", "b")
	before := to.Fd()
	if err := Redirect(to, from); err != nil {
		t.Fatal(err)
	}
	var got [1]byte
	if _, err := to.ReadAt(got[:], 0); err != nil || got[0] != 'b' || to.Fd() != before {
		t.Errorf("reads %q from descriptor %d (was %d), %v; want b", got, to.Fd(), before, err)
	}
}

func TestCreateNewBeneath(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	f, err := CreateNewBeneath(dir, "f")
	if err != nil {
		t.Skipf("openat2: %v", err)
	}
	f.Close()
	if _, err := CreateNewBeneath(dir, "f"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v, want that it exists", err)
	}
}
