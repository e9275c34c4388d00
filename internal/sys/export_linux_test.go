package sys

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// WhyUnordered is whyUnordered, for tests that mount file systems.
func (d Dir) WhyUnordered() string { return d.whyUnordered() }

// FlagsOf returns the flags of f.
func FlagsOf(t *testing.T, f *os.File) (flags int) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	cerr := raw.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	if err := errors.Join(cerr, err); err != nil {
		t.Fatal(err)
	}
	return flags
}
