package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// Allocate allocates blocks for the range and extends a shorter file to its end
// (fallocate(2)).
func Allocate(fd int, off, n int64) error {
	return Retry(func() error { return unix.Fallocate(fd, 0, off, n) })
}

// Truncate sets the size of the file, in bytes.
func Truncate(fd int, size int64) error {
	return Retry(func() error { return unix.Ftruncate(fd, size) })
}

// Preallocate reserves blocks for the range without changing the file's size
// (FALLOC_FL_KEEP_SIZE).
func Preallocate(f *os.File, off, n int64) error {
	return WithFD(f, func(fd int) error { return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, off, n) })
}

// AllocateTo allocates blocks up to size and extends a shorter file to size bytes
// (fallocate(2)).
func AllocateTo(f *os.File, size int64) error {
	return WithFD(f, func(fd int) error { return unix.Fallocate(fd, 0, 0, size) })
}
