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

// Mounts is not offered here.
func Mounts() ([]MountPoint, error) { return nil, errors.ErrUnsupported }

// OwnFile cannot tell here, and says yes.
func OwnFile(fi os.FileInfo) bool { return true }

// AllocatedBytes cannot tell here, and returns 0.
func AllocatedBytes(fi os.FileInfo) int64 { return 0 }
