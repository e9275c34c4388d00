//go:build !linux

package sys

import (
	"errors"
	"os"
)

// StatFS is not offered here.
func StatFS(path string) (FSInfo, error) {
	return FSInfo{}, &os.PathError{Op: "statfs", Path: path, Err: errors.ErrUnsupported}
}

// FSName is not offered here.
func FSName(magic uint32) string { return "" }

// StatPath is not offered here.
func StatPath(path string) (Statx, error) {
	return Statx{}, &os.PathError{Op: "statx", Path: path, Err: errors.ErrUnsupported}
}

// StatFile is not offered here.
func StatFile(f *os.File) (Statx, error) { return StatPath(f.Name()) }
