// Package fileop makes single file operations of Linux, each by one system call: for
// finding out what a file system offers, and for measuring and testing it. The
// primitives, which have to be fast, have calls of their own in internal/sys.
package fileop

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// fallocate(2) modes.
const (
	FallocKeepSize    = unix.FALLOC_FL_KEEP_SIZE
	FallocPunchHole   = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE // the only form allowed
	FallocCollapse    = unix.FALLOC_FL_COLLAPSE_RANGE
	FallocZero        = unix.FALLOC_FL_ZERO_RANGE
	FallocInsert      = unix.FALLOC_FL_INSERT_RANGE
	FallocUnshare     = unix.FALLOC_FL_UNSHARE_RANGE
	FallocWriteZeroes = 0x80 // FALLOC_FL_WRITE_ZEROES of Linux 6.17, by value for older versions of x/sys
)

// Flags of pwritev2(2).
const (
	WriteAtomic    = 0x40 // RWF_ATOMIC of Linux 6.11, by value for older versions of x/sys
	WriteDontCache = 0x80 // RWF_DONTCACHE of Linux 6.14
	WriteDSync     = unix.RWF_DSYNC
)

// Flags of renameat2(2).
const (
	RenameNoReplace = unix.RENAME_NOREPLACE
	RenameExchange  = unix.RENAME_EXCHANGE
)

// retryCall calls f until it is not interrupted, and names the call in its error.
func retryCall(call string, f func() error) error {
	for {
		err := f()
		if err == unix.EINTR {
			continue
		}
		return os.NewSyscallError(call, err)
	}
}

// named is sys.WithFD with the name of the call in its error.
func named(call string, f *os.File, do func(fd int) error) error {
	return os.NewSyscallError(call, sys.WithFD(f, do))
}

func openCall(call, name string, f func() (int, error)) (*os.File, error) {
	var fd int
	err := retryCall(call, func() (err error) {
		fd, err = f()
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// LinkTmpfile gives a file without a name the name path. It goes through
// /proc, since AT_EMPTY_PATH needs CAP_DAC_READ_SEARCH on kernels before 6.10.
func LinkTmpfile(f *os.File, path string) error {
	return named("linkat", f, func(fd int) error {
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	})
}

// OpenDirect opens path, which must exist, for direct I/O.
func OpenDirect(path string) (*os.File, error) {
	return openCall("open O_DIRECT", path, func() (int, error) {
		return unix.Open(path, unix.O_DIRECT|unix.O_RDWR|unix.O_CLOEXEC, 0)
	})
}

// CreateBeneath makes the file rel under dir with openat2(2) and
// RESOLVE_BENEATH, which refuses every way out of dir with EXDEV.
func CreateBeneath(dir *os.File, rel string) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   unix.O_CREAT | unix.O_RDWR | unix.O_CLOEXEC,
		Mode:    0o600,
		Resolve: unix.RESOLVE_BENEATH,
	}
	return openAt(dir, rel, &how)
}

func openAt(dir *os.File, rel string, how *unix.OpenHow) (*os.File, error) {
	return openCall("openat2", rel, func() (fd int, err error) {
		err = sys.WithFD(dir, func(d int) (err error) {
			fd, err = unix.Openat2(d, rel, how)
			return err
		})
		return fd, err
	})
}

// Memfd makes a file in memory.
func Memfd(name string) (*os.File, error) {
	return openCall("memfd_create", name, func() (int, error) { return unix.MemfdCreate(name, unix.MFD_CLOEXEC) })
}

// Fallocate is fallocate(2).
func Fallocate(f *os.File, mode uint32, off, n int64) error {
	return named("fallocate", f, func(fd int) error { return unix.Fallocate(fd, mode, off, n) })
}

// Clone makes dst share all extents of src.
func Clone(dst, src *os.File) error {
	return os.NewSyscallError("ioctl FICLONE", sys.WithFDs(dst, src, unix.IoctlFileClone))
}

// CloneRange makes dst share n bytes of src, at the same offset.
func CloneRange(dst, src *os.File, off, n int64) error {
	return os.NewSyscallError("ioctl FICLONERANGE", sys.WithFDs(dst, src, func(to, from int) error {
		return unix.IoctlFileCloneRange(to, &unix.FileCloneRange{
			Src_fd: int64(from), Src_offset: uint64(off), Src_length: uint64(n), Dest_offset: uint64(off),
		})
	}))
}

// CopyFileRange copies up to n bytes from the head of src to the head of dst
// in the kernel, and returns how many.
func CopyFileRange(dst, src *os.File, n int) (int, error) {
	var done int
	err := sys.WithFDs(dst, src, func(to, from int) (err error) {
		var at, off int64
		done, err = unix.CopyFileRange(from, &off, to, &at, n, 0)
		return err
	})
	return done, os.NewSyscallError("copy_file_range", err)
}

// WriteFlags is pwritev2(2) with one buffer.
func WriteFlags(f *os.File, buf []byte, off int64, flags int) (int, error) {
	var n int
	err := named("pwritev2", f, func(fd int) (err error) {
		n, err = unix.Pwritev2(fd, [][]byte{buf}, off, flags)
		return err
	})
	return n, err
}

// RenameFlags is renameat2(2).
func RenameFlags(from, to string, flags uint) error {
	return retryCall("renameat2", func() error {
		return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
	})
}

// SetXattr sets an extended attribute.
func SetXattr(f *os.File, name string, value []byte) error {
	return named("fsetxattr", f, func(fd int) error { return unix.Fsetxattr(fd, name, value, 0) })
}

// GetXattr reads an extended attribute into buf and returns its length.
func GetXattr(f *os.File, name string, buf []byte) (int, error) {
	var n int
	err := named("fgetxattr", f, func(fd int) (err error) {
		n, err = unix.Fgetxattr(fd, name, buf)
		return err
	})
	return n, err
}

// SyncFileRange starts writing out all of f and waits for it. It makes
// nothing durable: no metadata is written and no disk cache flushed.
func SyncFileRange(f *os.File) error {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	return named("sync_file_range", f, func(fd int) error { return unix.SyncFileRange(fd, 0, 0, all) })
}

// Fdatasync is fdatasync(2).
func Fdatasync(f *os.File) error {
	return named("fdatasync", f, unix.Fdatasync)
}

// Syncfs writes out everything that the file system of dir has waiting
// (syncfs(2)).
func Syncfs(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return named("syncfs", f, unix.Syncfs)
}

// ErrName returns the kernel's name of the error number in err, "EINVAL" for
// example, or "".
func ErrName(err error) string {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return ""
	}
	if no == unix.EOPNOTSUPP { // x/sys calls it by its other name
		return "EOPNOTSUPP"
	}
	return unix.ErrnoName(no)
}
