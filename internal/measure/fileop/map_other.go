//go:build !linux

package fileop

import (
	"errors"
	"os"
)

// MapShared fails with errors.ErrUnsupported.
func MapShared(f *os.File, n int, write, ahead bool) ([]byte, error) {
	return nil, &os.PathError{Op: "mmap", Path: f.Name(), Err: errors.ErrUnsupported}
}
