//go:build !linux

package sys

import (
	"errors"
	"os"
)

// TryLock fails with errors.ErrUnsupported.
func TryLock(f *os.File) (bool, error) {
	return false, &os.PathError{Op: "flock", Path: f.Name(), Err: errors.ErrUnsupported}
}

// Unlock does nothing.
func Unlock(*os.File) error { return nil }
