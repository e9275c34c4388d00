package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// An output file appears when it is complete, as secret as the one before it;
// a device stays one.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	say := func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return err
	}
	holds := func(want string) {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil || string(b) != want {
			t.Errorf("%q, %v", b, err)
		}
		if fi, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && fi.Mode() != 0o600 {
			t.Error(fi.Mode(), err)
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
			t.Error(all, err)
		}
	}
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	if err := writeFile(name, nil, func(w io.Writer) error { return errors.Join(say(w), failed) }); !errors.Is(err, failed) {
		t.Error(err)
	}
	holds("old")
	if err := writeFile(name, nil, say); err != nil {
		t.Error(err)
	}
	holds("new")

	link := filepath.Join(dir, "null")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skip(err)
	}
	if err := writeFile(link, nil, say); err != nil {
		t.Error(err)
	}
	if fi, err := os.Lstat(link); err != nil || fi.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link to a device is %v, %v", fi, err)
	}
}
