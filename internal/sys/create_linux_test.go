package sys

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestTouchFileAllocates0(t *testing.T) {
	d, _ := openDir(t, ForPath)
	if n := leastAllocs(100, func() {
		d.TouchFile("f", 0o600)
		d.TouchFile("f", 0o600)
	}); n != 0 {
		t.Errorf("TouchFile: %v allocations", n)
	}
}

func TestUmask(t *testing.T) {
	old := unix.Umask(0o137)
	got, err := Umask()
	unix.Umask(old)
	if got != 0o137 || err != nil {
		t.Errorf("%o, %v", got, err)
	}
}
