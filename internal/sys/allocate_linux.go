package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// Allocate gives the range of the file blocks, and the file the size to its
// end if it is shorter (fallocate(2)).
func Allocate(fd int, off, n int64) error {
	return Retry(func() error { return unix.Fallocate(fd, 0, off, n) })
}

// Truncate sets the size of the file.
func Truncate(fd int, size int64) error {
	return Retry(func() error { return unix.Ftruncate(fd, size) })
}

// Preallocate reserves blocks for the range and leaves the file's size as it
// is (FALLOC_FL_KEEP_SIZE).
func Preallocate(f *os.File, off, n int64) error {
	return WithFD(f, func(fd int) error { return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, off, n) })
}

// AllocateTo gives the file blocks up to size, and that size if it is shorter
// (fallocate(2)).
func AllocateTo(f *os.File, size int64) error {
	return WithFD(f, func(fd int) error { return unix.Fallocate(fd, 0, 0, size) })
}
