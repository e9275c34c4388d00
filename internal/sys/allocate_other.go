//go:build !linux

package sys

import (
	"errors"
	"os"
)

// Allocate is not offered here.
func Allocate(fd int, off, n int64) error { return errors.ErrUnsupported }

// Truncate is not offered here.
func Truncate(fd int, size int64) error { return errors.ErrUnsupported }

// Preallocate is not offered here.
func Preallocate(f *os.File, off, n int64) error { return errors.ErrUnsupported }

// AllocateTo is not offered here.
func AllocateTo(f *os.File, size int64) error { return errors.ErrUnsupported }
