//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// Inode is not told here.
func Inode(os.FileInfo) uint64 { return 0 }

// OwnFile cannot tell here, and says yes.
func OwnFile(fi os.FileInfo) bool { return true }

// AllocatedBytes cannot tell here, and returns 0.
func AllocatedBytes(fi os.FileInfo) int64 { return 0 }

// InodeOf is not known here.
func InodeOf(fd int) (uint64, error) { return 0, errors.ErrUnsupported }

// AccessTime is not known here.
func AccessTime(fi fs.FileInfo) time.Time { return time.Time{} }

// SetTimes is not offered here.
func SetTimes(fd int, access, modification time.Time) error { return errors.ErrUnsupported }
