package fileop

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// MapShared maps the first n bytes of f (mmap(2), MAP_SHARED): stores go to the file, and
// with write false are faults. ahead fills the page table for reading first.
// sys.Munmap removes the mapping.
func MapShared(f *os.File, n int, write, ahead bool) ([]byte, error) {
	prot, flags := unix.PROT_READ, unix.MAP_SHARED
	if write {
		prot |= unix.PROT_WRITE
	}
	if ahead {
		flags |= unix.MAP_POPULATE
	}
	var p unsafe.Pointer
	err := sys.WithFD(f, func(fd int) (err error) {
		p, err = unix.MmapPtr(fd, 0, nil, uintptr(n), prot, flags)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	return unsafe.Slice((*byte)(p), n), nil
}
