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

// CreateTemp makes the file name, which must not be there, for writing and reading.
func (d Dir) CreateTemp(name string, perm fs.FileMode) (Temp, error) {
	f, err := d.openFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	return Temp{f}, err
}

// OpenTemp is not offered here.
func (d Dir) OpenTemp(string) (Temp, error) { return Temp{}, errors.ErrUnsupported }

// Write writes all of b, or tells how much of it and why not more.
func (t Temp) Write(b []byte) (int, error) {
	n, err := t.f.Write(b)
	return n, bare(err)
}

// CopyFrom is not offered here: it copies nothing.
func (t Temp) CopyFrom(syscall.RawConn, int64) int64 { return 0 }

// Sync makes the file's content durable. On macOS that is F_FULLFSYNC, which
// empties the device's write cache too; on Windows it is FlushFileBuffers.
func (t Temp) Sync() error { return bare(t.f.Sync()) }

// StartWriteback is a hint that nobody takes here.
func (t Temp) StartWriteback() {}

// Writeback is not offered here, nor needed: see OrdersData.
func (t Temp) Writeback() error { return errors.ErrUnsupported }

// Chmod sets the permissions. Windows knows only whether a file is read-only.
func (t Temp) Chmod(mode fs.FileMode) error { return bare(t.f.Chmod(mode)) }

// Chown is not offered here, as the owner is not known.
func (t Temp) Chown(uid, gid int) error { return errors.ErrUnsupported }

// Info tells about the file itself.
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

// ReadAt fills b from the offset off on, or tells why it is not full.
func (t Temp) ReadAt(b []byte, off int64) (int, error) {
	n, err := t.f.ReadAt(b, off)
	return n, bare(err)
}

// WriteAt writes all of b at off, or tells how much of it and why not more.
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

// Stat tells about the file, under the name name.
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

// TryLock is not offered here.
func (t Temp) TryLock() (bool, error) { return false, errors.ErrUnsupported }

// Flush has nothing to do here: the file is closed before it is renamed.
func (t Temp) Flush() error { return nil }

// SyscallConn gives access to the descriptor.
func (t Temp) SyscallConn() (syscall.RawConn, error) { return t.f.SyscallConn() }
