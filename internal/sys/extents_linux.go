package sys

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fiemap(2) has no man page of its own; linux/fiemap.h describes it.
type (
	fiemapExtent struct {
		logical, physical, length uint64
		_                         [2]uint64
		flags                     uint32
		_                         [3]uint32
	}
	fiemap struct {
		start, length uint64
		flags         uint32
		mapped, count uint32
		_             uint32
		extents       [256]fiemapExtent
	}
)

const (
	fsIocFiemap = 0xc020660b // _IOWR('f', 11, struct fiemap)
	fiemapSync  = 1          // write out first: delayed data has no blocks yet

	fiemapLast      = 0x1
	fiemapUnwritten = 0x4 | 0x800                 // delayed: no blocks chosen yet; unwritten
	fiemapOdd       = 0x8 | 0x100 | 0x200 | 0x400 // encoded, not aligned, inline, tail
)

// Extents returns the extents of f from its start, also beyond its end, after
// writing out its dirty pages. Adjacent ranges may be one extent or two.
func Extents(f *os.File) ([]Extent, error) {
	var list []Extent
	m := new(fiemap)
	for start := uint64(0); ; {
		m.start, m.length, m.flags = start, ^uint64(0)-start, fiemapSync
		m.mapped, m.count = 0, uint32(len(m.extents))
		err := WithFD(f, func(fd int) error {
			if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), fsIocFiemap, uintptr(unsafe.Pointer(m))); e != 0 {
				return e
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, e := range m.extents[:m.mapped] {
			list = append(list, Extent{
				Off: int64(e.logical), Len: int64(e.length),
				Unwritten: e.flags&fiemapUnwritten != 0, Odd: e.flags&fiemapOdd != 0,
			})
			start = e.logical + e.length
			if e.flags&fiemapLast != 0 {
				return list, nil
			}
		}
		if m.mapped == 0 {
			return list, nil
		}
	}
}

// InsertRange inserts a hole of n bytes into f at off and shifts the bytes from
// there up. It drops f from the page cache.
func InsertRange(f *os.File, off, n int64) error {
	return WithFD(f, func(fd int) error { return unix.Fallocate(fd, unix.FALLOC_FL_INSERT_RANGE, off, n) })
}

// CollapseRange removes n bytes at off from f and shifts the bytes after them down.
func CollapseRange(f *os.File, off, n int64) error {
	return WithFD(f, func(fd int) error { return unix.Fallocate(fd, unix.FALLOC_FL_COLLAPSE_RANGE, off, n) })
}

// CannotShift reports whether err of fallocate(2) means that it cannot shift this
// file: the range is not whole units of the file system (an ext4 with clusters, an
// XFS realtime file), or the file has no extents, or is swap space.
func CannotShift(err error) bool {
	switch err {
	case unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL, unix.ETXTBSY:
		return true
	}
	return false
}
