//go:build !linux

package sys

import (
	"errors"
	"os"
	"syscall"
)

// NextData returns the whole range: no holes are known.
func NextData(f *os.File, off, size int64) (start, end int64, err error) { return off, size, nil }

// CloneTail fails with errors.ErrUnsupported.
func CloneTail(dst int, to int64, src *os.File, off int64) error { return errors.ErrUnsupported }

// CopyInKernel fails with errors.ErrUnsupported.
func CopyInKernel(dst int, to int64, src *os.File, off, n int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// CopyMapped fails with errors.ErrUnsupported.
func CopyMapped(dst int, to int64, src *os.File, off, n int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// Unreadable returns false.
func Unreadable(err error) bool { return false }

// CopyOn fails with errors.ErrUnsupported.
func CopyOn(dst *os.File, to *int64, src syscall.RawConn, n int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// NoKernelCopy reports whether a copy through memory may still work.
func NoKernelCopy(err error) bool { return true }
