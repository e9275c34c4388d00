package sys

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rwfDontCache is RWF_DONTCACHE of include/uapi/linux/fs.h. Only new versions of
// x/sys have it, and a user of one primitive need not be lifted to those.
const rwfDontCache = 0x80

// Flags of preadv2(2).
const (
	ReadDontCache = rwfDontCache    // Linux 6.14
	ReadNoWait    = unix.RWF_NOWAIT // EAGAIN where a device would be waited for
)

// Advice on a file's range, posix_fadvise(2). Normal, random and sequential
// hold for the whole descriptor, whatever the range.
const (
	AdviseNormal     = unix.FADV_NORMAL
	AdviseRandom     = unix.FADV_RANDOM
	AdviseSequential = unix.FADV_SEQUENTIAL
	AdviseWillNeed   = unix.FADV_WILLNEED
	AdviseDontNeed   = unix.FADV_DONTNEED
	AdviseNoReuse    = unix.FADV_NOREUSE
)

// Pread makes one pread(2): it may read less than len(p), and reads 0 bytes without
// an error at the end of the file.
func Pread(f *os.File, p []byte, off int64) (int, error) {
	var n int
	err := WithFD(f, func(fd int) (err error) {
		n, err = syscall.Pread(fd, p, off)
		return err
	})
	return max(n, 0), err
}

// PreadFlags makes one preadv2(2) with one buffer.
func PreadFlags(f *os.File, p []byte, off int64, flags int) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	iov := unix.Iovec{Base: &p[0]}
	iov.SetLen(len(p))
	// The offset is two words, of which 64-bit kernels read the first.
	const half = unsafe.Sizeof(uintptr(0)) * 8 / 2
	err = WithFD(f, func(fd int) error {
		m, _, e := unix.Syscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(&iov)), 1,
			uintptr(off), uintptr(uint64(off)>>half>>half), uintptr(flags))
		if e != 0 {
			return e
		}
		n = int(m)
		return nil
	})
	return n, err
}

// Fadvise announces to the kernel how n bytes of f at off will be used; n = 0 is to
// the end.
func Fadvise(f *os.File, off, n int64, advice int) error {
	return WithFD(f, func(fd int) error { return unix.Fadvise(fd, off, n, advice) })
}

// CachedBytes returns how many of the n bytes of f from off are in the page cache or being
// read into it, in whole pages (cachestat(2), Linux 6.5). With n of 0 it is for all bytes
// from off to the end. It starts no I/O. The error is errors.ErrUnsupported on older
// kernels, on an overlay, where the pages belong to another file, and since Linux 6.14 for a
// file that the caller neither owns nor may write to.
func CachedBytes(f *os.File, off, n int64) (int64, error) {
	var (
		at = unix.CachestatRange{Off: uint64(off), Len: uint64(n)}
		st unix.Cachestat_t
		fs unix.Statfs_t
	)
	err := WithFD(f, func(fd int) error {
		err := unix.Cachestat(uint(fd), &at, &st, 0)
		if err == nil && st.Cache == 0 {
			unix.Fstatfs(fd, &fs) // after an error fs.Type is 0, no overlay
		}
		return err
	})
	switch err {
	case nil:
		if fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
			return 0, fmt.Errorf("cachestat of a file of an overlay: %w", errors.ErrUnsupported)
		}
		return int64(st.Cache) * int64(os.Getpagesize()), nil
	case unix.ENOSYS, unix.EPERM, unix.EOPNOTSUPP: // old, filtered or not permitted, or a file system that has its own cache
		return 0, fmt.Errorf("cachestat: %w: %w", err, errors.ErrUnsupported)
	}
	return 0, os.NewSyscallError("cachestat", err)
}
