package pagecache

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// Resident returns how many bytes of f are in the page cache, in whole pages: by
// cachestat(2), on kernels before 6.5 by mincore(2).
func Resident(f *os.File) (int64, error) {
	n, err := Cached(f)
	if errors.Is(err, errors.ErrUnsupported) {
		return mincoreBytes(f)
	}
	return n, err
}

// mincoreBytes maps f, which reads nothing, and counts its resident pages. Since
// Linux 5.2 only the owner of a file and those who may write to it get an answer
// (mm/mincore.c, can_do_mincore); to others every page is resident.
func mincoreBytes(f *os.File) (bytes int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	page := int64(os.Getpagesize())
	// In pieces: the answer is a byte a page, and an empty file has no mapping.
	const piece = 1 << 30
	present := make([]byte, min(piece, info.Size()+page)/page+1)
	for off := int64(0); off < info.Size(); off += piece {
		n := int(min(piece, info.Size()-off))
		var mem []byte
		err := sys.WithFD(f, func(fd int) (err error) {
			mem, err = unix.Mmap(fd, off, n, unix.PROT_READ, unix.MAP_SHARED)
			return err
		})
		if err != nil {
			return 0, os.NewSyscallError("mmap", err)
		}
		pages := (int64(n) + page - 1) / page
		err = sys.Retry(func() error {
			// EAGAIN is for lack of kernel memory for a moment.
			for {
				_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(n), uintptr(unsafe.Pointer(&present[0])))
				if errno == 0 {
					return nil
				}
				if errno != unix.EAGAIN {
					return errno
				}
			}
		})
		if err = errors.Join(os.NewSyscallError("mincore", err), os.NewSyscallError("munmap", unix.Munmap(mem))); err != nil {
			return 0, err
		}
		for _, p := range present[:pages] {
			bytes += int64(p&1) * page
		}
	}
	return bytes, nil
}

// Lock keeps the first n bytes of f in the page cache until release is called. It
// maps them and locks the mapping in memory (mlock(2)), which reads missing pages.
// Without it the kernel may reclaim pages unused for a while (DAMON_RECLAIM),
// however much memory is free. Processes other than root's can lock RLIMIT_MEMLOCK,
// usually 8 MiB: beyond it the error is errors.ErrUnsupported.
func Lock(f *os.File, n int) (release func() error, err error) {
	mem, err := sys.Mmap(f, n, false)
	if err != nil {
		return nil, err
	}
	err = sys.Retry(func() error { return unix.Mlock(mem) })
	switch {
	case err == nil:
		return func() error { return sys.Munmap(mem) }, nil
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EAGAIN):
		err = fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
	}
	return nil, errors.Join(fmt.Errorf("lock %d bytes of %s in memory: %w", n, f.Name(), err), sys.Munmap(mem))
}
