package sys

import (
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noEmptyPath is set once linkat(2) has refused AT_EMPTY_PATH and taken the
// way through /proc: before Linux 6.10 it wants CAP_DAC_READ_SEARCH.
var noEmptyPath atomic.Bool

// LinkFile gives f, which may have no name, the name path. It fails with EEXIST if
// the name exists.
func (d Dir) LinkFile(f *os.File, path string) error {
	if !noEmptyPath.Load() {
		err := WithFD(f, func(fd int) error { return unix.Linkat(fd, "", d.fd(), path, unix.AT_EMPTY_PATH) })
		if err != unix.ENOENT && err != unix.EINVAL && err != unix.EPERM {
			return err
		}
	}
	err := WithFD(f, func(fd int) error {
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), d.fd(), path, unix.AT_SYMLINK_FOLLOW)
	})
	if err == nil {
		noEmptyPath.Store(true)
	}
	return err
}

// RenameNew renames the file from to the name to. It fails with EEXIST if that
// exists.
func (d Dir) RenameNew(from, to string) error {
	left, err := d.moveNew(from, d, to)
	if err == nil && left != unix.ENOENT {
		err = left
	}
	return err
}

// MoveNew is RenameNew of a temporary file, into any directory of the file system.
// Where it takes two calls, the first one decides: if the old name cannot be removed
// afterwards, it stays.
func (d Dir) MoveNew(from string, other Dir, to string) error {
	_, err := d.moveNew(from, other, to)
	return err
}

// moveNew is MoveNew, and also returns why the old name stays, if it does.
func (d Dir) moveNew(from string, other Dir, to string) (left, err error) {
	err = Retry(func() error { return unix.Renameat2(d.fd(), from, other.fd(), to, unix.RENAME_NOREPLACE) })
	if err != unix.EINVAL && err != unix.ENOSYS {
		return nil, err
	}
	// The file system does not know the flag.
	if err := Retry(func() error { return unix.Linkat(d.fd(), from, other.fd(), to, 0) }); err != nil {
		return nil, err
	}
	return d.Remove(from), nil
}

// Rename renames the file from to the name to, replacing an existing file.
func (d Dir) Rename(from, to string) error { return d.Move(from, d, to) }

// Move is Rename into another directory of the file system.
func (d Dir) Move(from string, other Dir, to string) error {
	var buf, buf2 [pathBuf]byte
	p, err := dirPath(&buf, from)
	if err != nil {
		return err
	}
	q, err := dirPath(&buf2, to)
	if err != nil {
		return err
	}
	// Not renameat(2): riscv64 has only renameat2.
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall6(unix.SYS_RENAMEAT2, uintptr(d.fd()), uintptr(unsafe.Pointer(p)),
			uintptr(other.fd()), uintptr(unsafe.Pointer(q)), 0, 0)
		return e
	})
}

// Remove removes the file path. A directory is refused.
func (d Dir) Remove(path string) error { return d.unlink(path, 0) }

// CloseBeforeRename is whether a file must be closed before it can be renamed.
const CloseBeforeRename = false

// Exchange atomically exchanges the names of the files a, in d, and b, in other.
func (d Dir) Exchange(a string, other Dir, b string) error {
	return Retry(func() error { return unix.Renameat2(d.fd(), a, other.fd(), b, unix.RENAME_EXCHANGE) })
}
