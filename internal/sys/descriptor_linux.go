package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// Calls on an open file go by WithFD and WithFDs, never by (*os.File).Fd. The
// number that Fd returns is another file's once the file is closed and the next
// one opened. And Fd makes a pipe block: it then ignores deadlines and Close.
//
// Neither allocates: the compiler sees through SyscallConn of an *os.File, so
// the closures stay on the stack. Tests of the hot paths check that.

// WithFD calls call with f's descriptor until it is not interrupted. f is not
// closed meanwhile. The error is call's, os.ErrClosed if f is closed, or
// os.ErrInvalid if it is nil.
func WithFD(f *os.File, call func(fd int) error) (err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return os.ErrInvalid
	}
	cerr := raw.Control(func(fd uintptr) {
		for {
			if err = call(int(fd)); err != unix.EINTR {
				return
			}
		}
	})
	if cerr != nil {
		return os.ErrClosed // its only error, in a form that os does not export
	}
	return err
}

// WithFDs is WithFD of two files.
func WithFDs(f, g *os.File, call func(fd, gd int) error) error {
	return WithFD(f, func(fd int) error {
		return WithFD(g, func(gd int) error { return call(fd, gd) })
	})
}

// Retry calls f until it is not interrupted by a signal (EINTR).
func Retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}
