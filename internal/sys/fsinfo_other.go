//go:build !linux

package sys

import (
	"errors"
	"os"
)

// StatFS fails with errors.ErrUnsupported.
func StatFS(path string) (FSInfo, error) {
	return FSInfo{}, &os.PathError{Op: "statfs", Path: path, Err: errors.ErrUnsupported}
}

// FSName returns "".
func FSName(magic uint32) string { return "" }

// StatPath fails with errors.ErrUnsupported.
func StatPath(path string) (Statx, error) {
	return Statx{}, &os.PathError{Op: "statx", Path: path, Err: errors.ErrUnsupported}
}

// StatFile fails with errors.ErrUnsupported.
func StatFile(f *os.File) (Statx, error) { return StatPath(f.Name()) }
