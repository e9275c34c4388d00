package sys

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A file that is closed during a call keeps its descriptor until the call ends, so the
// call never reaches a file that was opened meanwhile.
func TestWithFDKeepsTheDescriptor(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "ours"))
	if err != nil {
		t.Fatal(err)
	}
	var stranger *os.File
	err = WithFD(f, func(fd int) error {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if stranger, err = os.Create(filepath.Join(dir, "stranger")); err != nil {
			t.Fatal(err)
		}
		_, err := unix.Pwrite(fd, []byte("text"), 0)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	defer stranger.Close()
	for name, want := range map[string]string{"ours": "text", "stranger": ""} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s has %q, %v; want %q", name, b, err, want)
		}
	}
	if err := WithFD(f, func(int) error { t.Error("called with a closed file"); return nil }); err != os.ErrClosed {
		t.Errorf("a closed file: %v; want %v", err, os.ErrClosed)
	}
	if err := WithFD(nil, func(int) error { t.Error("called with no file"); return nil }); err != os.ErrInvalid {
		t.Errorf("no file: %v; want %v", err, os.ErrInvalid)
	}
}
