package sys

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What package fileio asks of files that it writes. Errors are bare.

// WriteMode are what one write is asked for beyond writing (RWF_*).
type WriteMode int

const (
	// WriteDurable: the write returns once the bytes are durable, and what is
	// needed to read them (RWF_DSYNC). Other bytes of the file are not.
	WriteDurable WriteMode = unix.RWF_DSYNC
	// WriteUncached: the pages are written out at once, and dropped then
	// (RWF_DONTCACHE, Linux 6.14).
	WriteUncached WriteMode = rwfDontCache
)

// WriteVec writes a and then b at off, in one call where the kernel takes all
// of it (pwritev2(2)), and tells how many bytes it was and why not more.
func WriteVec(f *os.File, a, b []byte, off int64, flags WriteMode) (n int, err error) {
	err = WithFD(f, func(fd int) error {
		for n < len(a)+len(b) {
			m, err := pwritev2(fd, a[min(n, len(a)):], b[max(0, n-len(a)):], off+int64(n), flags)
			if err != nil {
				return err
			}
			if m <= 0 {
				return io.ErrUnexpectedEOF
			}
			n += m
		}
		return nil
	})
	return n, err
}

// pwritev2 makes one call; without flags it is pwrite(2) or pwritev(2), which
// every kernel and every seccomp filter knows.
func pwritev2(fd int, a, b []byte, off int64, flags WriteMode) (int, error) {
	if len(a) == 0 {
		a, b = b, nil
	}
	a = a[:min(len(a), maxWrite)]
	if flags == 0 && len(b) == 0 {
		return unix.Pwrite(fd, a, off)
	}
	b = b[:min(len(b), maxWrite-len(a))]
	var pieces [2]unix.Iovec
	count := 1
	pieces[0].Base = unsafe.SliceData(a)
	pieces[0].SetLen(len(a))
	if len(b) > 0 {
		pieces[1].Base = unsafe.SliceData(b)
		pieces[1].SetLen(len(b))
		count = 2
	}
	// The offset goes in two halves; where a long has 64 bits, the first is
	// all of it, and the second is shifted out (pos_from_hilo in fs/read_write.c).
	lo := uintptr(off)
	hi := uintptr(uint64(off) >> (unsafe.Sizeof(lo) * 4) >> (unsafe.Sizeof(lo) * 4))
	trap := uintptr(unix.SYS_PWRITEV2)
	if flags == 0 {
		trap = unix.SYS_PWRITEV // which every filter knows, too
	}
	n, _, e := unix.Syscall6(trap, uintptr(fd), uintptr(unsafe.Pointer(&pieces)), uintptr(count), lo, hi, uintptr(flags))
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// NoSuchWrite reports whether err of WriteVec says that the kernel or the file
// system does not know a flag.
func NoSuchWrite(err error) bool {
	return err == unix.EOPNOTSUPP || err == unix.ENOSYS
}

// Preallocate reserves blocks for the range and leaves the file's size as it
// is (FALLOC_FL_KEEP_SIZE).
func Preallocate(f *os.File, off, n int64) error {
	return WithFD(f, func(fd int) error { return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, off, n) })
}

// AllocateTo gives the file blocks up to size, and that size if it is shorter
// (fallocate(2)).
func AllocateTo(f *os.File, size int64) error {
	return WithFD(f, func(fd int) error { return unix.Fallocate(fd, 0, 0, size) })
}

// SyncRange writes the range out and waits until the device has answered. It
// makes nothing durable: neither the size of the file nor where its blocks
// are, nor is the device told to empty its cache (sync_file_range(2)).
func SyncRange(f *os.File, off, n int64) error {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	return WithFD(f, func(fd int) error { return unix.SyncFileRange(fd, off, n, all) })
}

// OpenedFor tells how f was opened.
func OpenedFor(f *os.File) (Opened, error) {
	var flags int
	err := WithFD(f, func(fd int) (err error) {
		flags, err = unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		return err
	})
	access := flags & unix.O_ACCMODE
	open := err == nil && flags&unix.O_PATH == 0
	return Opened{
		Read:    open && access != unix.O_WRONLY,
		Write:   open && access != unix.O_RDONLY,
		Append:  flags&unix.O_APPEND != 0,
		Durable: flags&unix.O_DSYNC != 0,
	}, err
}

// CopyOn copies up to n bytes of src, from its offset on, to dst at *to, or
// where that is nil at the offset of dst, by one copy_file_range(2): the file
// system may share blocks between the two. The offsets move. 0 bytes without
// an error: the end of src.
func CopyOn(dst *os.File, to *int64, src syscall.RawConn, n int64) (copied int64, err error) {
	cerr := src.Control(func(from uintptr) {
		err = WithFD(dst, func(fd int) error {
			m, err := unix.CopyFileRange(int(from), nil, fd, to, int(min(n, maxCopy)), 0)
			copied = int64(max(m, 0))
			return err
		})
	})
	if cerr != nil {
		return 0, os.ErrClosed
	}
	return copied, err
}

// NoKernelCopy reports whether err of CopyOn says that another way may do:
// other file systems, other kinds of files, one that is appended to, a filter.
func NoKernelCopy(err error) bool {
	return Absent(err) || err == unix.EPERM || err == unix.EBADF
}
