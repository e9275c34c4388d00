//go:build !linux

package sys

import (
	"errors"
	"os"
	"syscall"
)

// NextData takes everything for data.
func NextData(f *os.File, off, size int64) (start, end int64, err error) { return off, size, nil }

// CloneTail is not offered here.
func CloneTail(dst int, to int64, src *os.File, off int64) error { return errors.ErrUnsupported }

// CopyInKernel is not offered here.
func CopyInKernel(dst int, to int64, src *os.File, off, n int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// CopyMapped is not offered here.
func CopyMapped(dst int, to int64, src *os.File, off, n int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// Unreadable is denied here.
func Unreadable(err error) bool { return false }

// CopyOn is not offered here.
func CopyOn(dst *os.File, to *int64, src syscall.RawConn, n int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// NoKernelCopy reports whether another way may do.
func NoKernelCopy(err error) bool { return true }
