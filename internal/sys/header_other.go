//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// OpenExact opens the regular file path itself. What else is there is a
// *NotRegularError, and is not waited for; a symlink that takes its place at
// that moment is followed here.
func OpenExact(path string, write bool) (*os.File, error) {
	fi, err := os.Lstat(path)
	if err == nil {
		err = NotRegular(fi.Mode())
	}
	if err != nil {
		return nil, bare(err)
	}
	f, err := OpenRegular(path, write)
	if err != nil {
		return nil, err
	}
	if fi, err = f.Stat(); err == nil {
		err = NotRegular(fi.Mode())
	}
	if err != nil {
		return nil, errors.Join(bare(err), f.Close())
	}
	return f, nil
}

// OpenRegular opens the file path. A symlink that has taken its place is
// followed here.
func OpenRegular(path string, write bool) (*os.File, error) {
	f, err := openShared(path, ExactFlags(write), 0)
	return f, bare(err)
}

// ExactFlags are the flags of OpenRegular.
func ExactFlags(write bool) int {
	if write {
		return os.O_RDWR | nonBlock
	}
	return os.O_RDONLY | nonBlock
}

// InodeOf is not known here.
func InodeOf(fd int) (uint64, error) { return 0, errors.ErrUnsupported }

// AccessTime is not known here.
func AccessTime(fi fs.FileInfo) time.Time { return time.Time{} }

// SetTimes is not offered here.
func SetTimes(fd int, access, modification time.Time) error { return errors.ErrUnsupported }

// GetAttr is not offered here.
func GetAttr(fd int, name string) ([]byte, error) { return nil, errors.ErrUnsupported }

// SetAttr is not offered here.
func SetAttr(fd int, name string, value []byte) error { return errors.ErrUnsupported }

// NoRoomForAttr reports whether err says that this attribute cannot be kept
// there.
func NoRoomForAttr(err error) bool { return errors.Is(err, errors.ErrUnsupported) }

// A Layout is what decides how a file can be moved about.
type Layout struct {
	Magic uint32
	Block int64
}

// LayoutOf knows nothing here.
func LayoutOf(f *os.File) (Layout, error) { return Layout{}, nil }

// FastAllocation is denied here.
func (l Layout) FastAllocation() bool { return false }

// NoSharing: nothing is shared here.
func (l Layout) NoSharing() bool { return true }

// Remote is not known here.
func (l Layout) Remote() bool { return false }

// NextData takes everything for data.
func NextData(f *os.File, off, size int64) (start, end int64, err error) { return off, size, nil }

// CloneTail is not offered here.
func CloneTail(dst int, to int64, src *os.File, off int64) error { return errors.ErrUnsupported }

// CopyInKernel is not offered here.
func CopyInKernel(dst int, to int64, src *os.File, off, n int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// CopyMapped is not offered here.
func CopyMapped(dst int, to int64, src *os.File, off, n int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// Unreadable is denied here.
func Unreadable(err error) bool { return false }

// WriteAt is not offered here.
func WriteAt(fd int, b []byte, off int64) (int, error) { return 0, errors.ErrUnsupported }

// Allocate is not offered here.
func Allocate(fd int, off, n int64) error { return errors.ErrUnsupported }

// Truncate is not offered here.
func Truncate(fd int, size int64) error { return errors.ErrUnsupported }

// SyncData makes the file's content durable.
func SyncData(f *os.File) error { return bare(f.Sync()) }

// SyncAll makes all that is known of the file durable.
func SyncAll(f *os.File) error { return bare(f.Sync()) }

// SyscallConn gives access to the descriptor.
func (t Temp) SyscallConn() (syscall.RawConn, error) { return t.f.SyscallConn() }
