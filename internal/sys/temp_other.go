//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// A Temp is a file that is written before it gets its name.
type Temp struct{ f *os.File }

// CreateTemp creates the file name for writing and reading. It fails if the name exists.
func (d Dir) CreateTemp(name string, perm fs.FileMode) (Temp, error) {
	f, err := d.openFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	return Temp{f}, err
}

// OpenTemp fails with errors.ErrUnsupported.
func (d Dir) OpenTemp(string) (Temp, error) { return Temp{}, errors.ErrUnsupported }

// Write writes all of b. It returns how much it wrote, and the error if that is less.
func (t Temp) Write(b []byte) (int, error) {
	n, err := t.f.Write(b)
	return n, bare(err)
}

// CopyFrom copies nothing.
func (t Temp) CopyFrom(syscall.RawConn, int64) int64 { return 0 }

// Sync makes the file's content durable. On macOS that is F_FULLFSYNC, which
// empties the device's write cache too; on Windows it is FlushFileBuffers.
func (t Temp) Sync() error { return bare(t.f.Sync()) }

// StartWriteback is a hint that nobody takes here.
func (t Temp) StartWriteback() {}

// Writeback fails with errors.ErrUnsupported.
func (t Temp) Writeback() error { return errors.ErrUnsupported }

// Chmod sets the permissions. Windows knows only whether a file is read-only.
func (t Temp) Chmod(mode fs.FileMode) error { return bare(t.f.Chmod(mode)) }

// Chown fails with errors.ErrUnsupported.
func (t Temp) Chown(uid, gid int) error { return errors.ErrUnsupported }

// Info describes the file.
func (t Temp) Info() (FileInfo, error) {
	fi, err := t.f.Stat()
	if err != nil {
		return FileInfo{}, bare(err)
	}
	return infoOf(fi), nil
}

// Close closes the file.
func (t Temp) Close() error { return bare(t.f.Close()) }

// Read reads at the file's offset.
func (t Temp) Read(b []byte) (int, error) {
	n, err := t.f.Read(b)
	return n, bare(err)
}

// ReadAt fills b from offset off. It returns how much it read, and the error if that
// is less.
func (t Temp) ReadAt(b []byte, off int64) (int, error) {
	n, err := t.f.ReadAt(b, off)
	return n, bare(err)
}

// WriteAt writes all of b at off. It returns how much it wrote, and the error if that
// is less.
func (t Temp) WriteAt(b []byte, off int64) (int, error) {
	n, err := t.f.WriteAt(b, off)
	return n, bare(err)
}

// Seek sets the file's offset.
func (t Temp) Seek(off int64, whence int) (int64, error) {
	n, err := t.f.Seek(off, whence)
	return n, bare(err)
}

// Truncate sets the file's size, in bytes.
func (t Temp) Truncate(size int64) error { return bare(t.f.Truncate(size)) }

// Stat describes the file, under the name name.
func (t Temp) Stat(name string) (fs.FileInfo, error) {
	fi, err := t.f.Stat()
	if err != nil {
		return nil, bare(err)
	}
	return namedInfo{fi, name}, nil
}

type namedInfo struct {
	fs.FileInfo
	name string
}

func (i namedInfo) Name() string { return i.name }

// TryLock fails with errors.ErrUnsupported.
func (t Temp) TryLock() (bool, error) { return false, errors.ErrUnsupported }

// Flush does nothing: the file is closed before it is renamed.
func (t Temp) Flush() error { return nil }

// SyscallConn returns access to the descriptor.
func (t Temp) SyscallConn() (syscall.RawConn, error) { return t.f.SyscallConn() }
