package aio

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAIOWritesWhereItIsTold(t *testing.T) {
	a, err := New()
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		t.Skipf("no native asynchronous I/O here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	name := filepath.Join(t.TempDir(), "f")
	want := bytes.Repeat([]byte{'.'}, 3*4096)
	if err := os.WriteFile(name, want, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []byte("ab") {
		page := bytes.Repeat([]byte{c}, 4096)
		off := int64(c-'a'+1) * 4096
		copy(want[off:], page)
		if err := a.WriteAt(f, page, off); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file does not hold what was written (error %v)", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f, err = os.Open(name) // not for writing
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := a.WriteAt(f, []byte("x"), 0); !errors.Is(err, unix.EBADF) {
		t.Errorf("writing to a file opened for reading gave %v, want EBADF", err)
	}
}
