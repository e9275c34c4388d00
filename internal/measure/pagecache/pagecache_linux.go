// Package pagecache drops, counts and locks the pages of files in the page cache.
package pagecache

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// Drop drops the pages of f from the page cache, so that the next read goes to the
// device (posix_fadvise(2), POSIX_FADV_DONTNEED). Only clean pages are dropped, so f
// must have been synced. The kernel may keep pages in use, and a file system in
// memory keeps all: see Cached.
func Drop(f *os.File) error {
	return os.NewSyscallError("fadvise", sys.WithFD(f, func(fd int) error { return unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) }))
}

// Cached returns how many bytes of f are in the page cache: see sys.CachedBytes.
func Cached(f *os.File) (int64, error) { return sys.CachedBytes(f, 0, 0) }

// Dirty returns how many bytes of f are in the page cache and not on the device: dirty, or
// being written (cachestat(2), Linux 6.5). A file in memory, which is never written back,
// has none. Where the kernel does not say, the error is errors.ErrUnsupported.
func Dirty(f *os.File) (int64, error) {
	st, err := cachestat(f)
	return int64(st.Dirty+st.Writeback) * int64(os.Getpagesize()), err
}

// Evicted returns how many bytes of f were in the page cache and were reclaimed since
// (cachestat(2), Linux 6.5). Those of a file in memory are in swap. Where the kernel does not
// say, the error is errors.ErrUnsupported.
func Evicted(f *os.File) (int64, error) {
	st, err := cachestat(f)
	return int64(st.Evicted) * int64(os.Getpagesize()), err
}

// cachestat returns the kernel's counts of all pages of f, which are 0 after an error.
func cachestat(f *os.File) (st unix.Cachestat_t, err error) {
	err = sys.WithFD(f, func(fd int) error { return unix.Cachestat(uint(fd), &unix.CachestatRange{}, &st, 0) })
	switch err {
	case nil:
		return st, nil
	case unix.ENOSYS, unix.EPERM, unix.EOPNOTSUPP:
		return unix.Cachestat_t{}, fmt.Errorf("cachestat: %w: %w", err, errors.ErrUnsupported)
	}
	return unix.Cachestat_t{}, os.NewSyscallError("cachestat", err)
}

// Swap returns how many bytes of swap the machine has (sysinfo(2)).
func Swap() (int64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, os.NewSyscallError("sysinfo", err)
	}
	return int64(info.Totalswap) * int64(info.Unit), nil
}

// WriteBackAge returns the age at which the kernel writes dirty pages back
// (vm.dirty_expire_centisecs), and the interval at which it looks for them added.
func WriteBackAge() (time.Duration, error) {
	var sum time.Duration
	for _, name := range []string{"dirty_expire_centisecs", "dirty_writeback_centisecs"} {
		b, err := os.ReadFile("/proc/sys/vm/" + name)
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			return 0, fmt.Errorf("vm.%s: %w", name, err)
		}
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum, nil
}
