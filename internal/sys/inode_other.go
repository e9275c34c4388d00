//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// Inode returns 0.
func Inode(os.FileInfo) uint64 { return 0 }

// OwnFile returns true.
func OwnFile(fi os.FileInfo) bool { return true }

// AllocatedBytes returns 0.
func AllocatedBytes(fi os.FileInfo) int64 { return 0 }

// InodeOf fails with errors.ErrUnsupported.
func InodeOf(fd int) (uint64, error) { return 0, errors.ErrUnsupported }

// AccessTime returns the zero time.
func AccessTime(fi fs.FileInfo) time.Time { return time.Time{} }

// SetTimes fails with errors.ErrUnsupported.
func SetTimes(fd int, access, modification time.Time) error { return errors.ErrUnsupported }
