package pagecache

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// Drop takes the pages of f out of the page cache, so that the next read
// has to go to the device. Only clean pages can be dropped (posix_fadvise(2),
// POSIX_FADV_DONTNEED), so f must have been synced. The kernel may keep pages
// that somebody uses, and a file system in memory keeps all: Cached
// tells.
func Drop(f *os.File) error {
	return os.NewSyscallError("fadvise", sys.WithFD(f, func(fd int) error { return unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) }))
}

// Cached tells how much of f is in the page cache (cachestat(2), Linux
// 6.5). On older kernels, and for a file of an overlay, whose pages are those of
// another file, it fails with errors.ErrUnsupported.
func Cached(f *os.File) (int64, error) { return CachedRange(f, 0, 0) }

// CachedRange is Cached for the pages of n bytes from off on; n of 0 is
// to the end.
func CachedRange(f *os.File, off, n int64) (int64, error) {
	var st unix.Cachestat_t
	var fs unix.Statfs_t
	err := sys.WithFD(f, func(fd int) error {
		err := unix.Cachestat(uint(fd), &unix.CachestatRange{Off: uint64(off), Len: uint64(n)}, &st, 0)
		if err == nil && st.Cache == 0 {
			unix.Fstatfs(fd, &fs) // where it fails, nothing is known of an overlay
		}
		return err
	})
	switch err {
	case nil:
		if fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
			return 0, fmt.Errorf("cachestat of a file of an overlay: %w", errors.ErrUnsupported)
		}
		return int64(st.Cache) * int64(os.Getpagesize()), nil
	case unix.ENOSYS, unix.EPERM, unix.EOPNOTSUPP: // old, filtered, or a file system that has its own cache
		return 0, fmt.Errorf("cachestat: %w: %w", err, errors.ErrUnsupported)
	}
	return 0, os.NewSyscallError("cachestat", err)
}
