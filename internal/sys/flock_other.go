//go:build !linux

package sys

import (
	"errors"
	"os"
)

// TryLock is not offered here.
func TryLock(f *os.File) (bool, error) {
	return false, &os.PathError{Op: "flock", Path: f.Name(), Err: errors.ErrUnsupported}
}

// Unlock has nothing to give back here.
func Unlock(*os.File) error { return nil }
