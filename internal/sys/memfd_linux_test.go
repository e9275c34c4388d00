package sys

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSeal(t *testing.T) {
	f, err := NewMemory("m")
	if errors.Is(err, unix.ENOSYS) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("abc"); err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 3, unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	if err := Seal(f); err != unix.EBUSY {
		t.Errorf("sealing while it is mapped: %v", err)
	}
	if err := unix.Munmap(m); err != nil {
		t.Fatal(err)
	}
	if err := Seal(f); err != nil {
		t.Error(err)
	}
	if err := f.Truncate(9); !errors.Is(err, unix.EPERM) {
		t.Errorf("growing a sealed file: %v", err)
	}
}
