package sys

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Advice on mapped memory, madvise(2).
const (
	MemNormal     = unix.MADV_NORMAL
	MemRandom     = unix.MADV_RANDOM
	MemSequential = unix.MADV_SEQUENTIAL
	MemWillNeed   = unix.MADV_WILLNEED
	MemDontNeed   = unix.MADV_DONTNEED
	MemHuge       = unix.MADV_HUGEPAGE      // huge pages in the background
	MemCollapse   = unix.MADV_COLLAPSE      // huge pages now; Linux 6.1
	MemPopulate   = unix.MADV_POPULATE_READ // read and map now, errors instead of SIGBUS; Linux 5.14
)

// Mmap maps the first n bytes of f for reading, shared: later writes to the file are
// visible. populate fills the page table first, where that works without an error.
func Mmap(f *os.File, n int, populate bool) ([]byte, error) {
	flags := unix.MAP_SHARED
	if populate {
		flags |= unix.MAP_POPULATE
	}
	// Not unix.Mmap, which keeps a table of all mappings behind a lock.
	var p unsafe.Pointer
	err := WithFD(f, func(fd int) (err error) {
		p, err = unix.MmapPtr(fd, 0, nil, uintptr(n), unix.PROT_READ, flags)
		return err
	})
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return unsafe.Slice((*byte)(p), n), nil
}

// MmapMemory maps n bytes of anonymous memory, which the garbage collector does not
// see. Pages are allocated on the first write, huge ones where the kernel has them.
func MmapMemory(n int) ([]byte, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	mem := unsafe.Slice((*byte)(p), n)
	_ = Madvise(mem, MemHuge) // a kernel may be built without them
	return mem, nil
}

// Munmap removes a mapping.
func Munmap(mem []byte) error {
	return os.NewSyscallError("munmap", unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(mem)), uintptr(len(mem))))
}

// Madvise calls madvise(2) on a part of a mapping, from the page of its first byte.
func Madvise(mem []byte, advice int) error {
	if len(mem) == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(mem))
	before := uintptr(p) & uintptr(os.Getpagesize()-1)
	return Retry(func() error {
		return unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(p, -int(before))), len(mem)+int(before)), advice)
	})
}
