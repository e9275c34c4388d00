//go:build !linux

package sys

import (
	"errors"
	"os"
)

// Allocate fails with errors.ErrUnsupported.
func Allocate(fd int, off, n int64) error { return errors.ErrUnsupported }

// Truncate fails with errors.ErrUnsupported.
func Truncate(fd int, size int64) error { return errors.ErrUnsupported }

// Preallocate fails with errors.ErrUnsupported.
func Preallocate(f *os.File, off, n int64) error { return errors.ErrUnsupported }

// AllocateTo fails with errors.ErrUnsupported.
func AllocateTo(f *os.File, size int64) error { return errors.ErrUnsupported }
