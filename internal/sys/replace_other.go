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

// FileInfo is what is kept of a file when another takes its name. Windows has
// no owner of the kind.
type FileInfo struct {
	Mode     fs.FileMode
	UID, GID int
}

// Same is not known here, and not denied.
func (fi FileInfo) Same(FileInfo) bool { return true }

// CreateTemp makes the file name, which must not be there, for writing and reading.
func (d Dir) CreateTemp(name string, perm fs.FileMode) (Temp, error) {
	f, err := d.openFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	return Temp{f}, err
}

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

// InfoOf tells about the open file f.
func InfoOf(f *os.File) (FileInfo, error) { return Temp{f}.Info() }

// Info tells about name, and does not follow it if it is a symlink.
func (d Dir) Info(name string) (FileInfo, error) {
	lstat := os.Lstat
	if d.root != nil {
		lstat = d.root.Lstat
	}
	fi, err := lstat(d.path(name))
	if err != nil {
		return FileInfo{}, bare(err)
	}
	return infoOf(fi), nil
}

// Readlink returns what the symlink name holds.
func (d Dir) Readlink(name string) (string, error) {
	readlink := os.Readlink
	if d.root != nil {
		readlink = d.root.Readlink
	}
	target, err := readlink(d.path(name))
	return target, bare(err)
}

// FollowLink returns what the symlink name holds, for one who follows it
// himself. Whether this process may, the system is asked first.
func (d Dir) FollowLink(name string) (string, error) {
	if _, err := d.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return d.Readlink(name)
}

// Exchange is not offered here.
func (d Dir) Exchange(string, Dir, string) error { return errors.ErrUnsupported }

// SyncFS is not offered here.
func (d Dir) SyncFS() error { return errors.ErrUnsupported }

// Device is not known here.
func (d Dir) Device() (uint64, error) { return 0, errors.ErrUnsupported }

// OrdersData is denied here: nothing is known of the file system's journal.
func (d Dir) OrdersData() bool { return false }

// IsLocal is denied here.
func (d Dir) IsLocal() bool { return false }

// A Process is told from every other one.
type Process struct {
	PID              int
	Start, Namespace uint64
	Boot             string
}

// ThisProcess cannot tell here when it started.
func ThisProcess() (Process, error) { return Process{}, errors.ErrUnsupported }

// StartOf is not known here.
func StartOf(pid int) (uint64, error) { return 0, errors.ErrUnsupported }
