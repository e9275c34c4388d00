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
	WriteUncached WriteMode = unix.RWF_DONTCACHE
)

// WriteVec writes a and then b at off, in one call where the kernel takes all
// of it (pwritev2(2)), and tells how many bytes it was and why not more.
func WriteVec(f *os.File, a, b []byte, off int64, flags WriteMode) (n int, err error) {
	fd := int(f.Fd())
	for n < len(a)+len(b) {
		m, err := pwritev2(fd, a[min(n, len(a)):], b[max(0, n-len(a)):], off+int64(n), flags)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, err
		case m <= 0:
			return n, io.ErrUnexpectedEOF
		default:
			n += m
		}
	}
	return n, nil
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
	return retryErrno(func() error { return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, off, n) })
}

// SyncRange writes the range out and waits until the device has answered. It
// makes nothing durable: neither the size of the file nor where its blocks
// are, nor is the device told to empty its cache (sync_file_range(2)).
func SyncRange(f *os.File, off, n int64) error {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	return retryErrno(func() error { return unix.SyncFileRange(int(f.Fd()), off, n, all) })
}

// AppendsOnly reports whether f was opened with O_APPEND, so that pwrite(2)
// does not heed its offset.
func AppendsOnly(f *os.File) (bool, error) { return hasFlag(f, unix.O_APPEND) }

// OpenedDurable reports whether f was opened with O_DSYNC or O_SYNC.
func OpenedDurable(f *os.File) (bool, error) { return hasFlag(f, unix.O_DSYNC) }

func hasFlag(f *os.File, flag int) (bool, error) {
	var flags int
	err := retryErrno(func() (err error) {
		flags, err = unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
		return err
	})
	return flags&flag != 0, err
}

// CopyOn copies up to n bytes of src, from its offset on, to dst at *to, or
// where that is nil at the offset of dst, by one copy_file_range(2): the file
// system may share blocks between the two. The offsets move. 0 bytes without
// an error: the end of src.
func CopyOn(dst *os.File, to *int64, src syscall.RawConn, n int64) (copied int64, err error) {
	cerr := src.Control(func(fd uintptr) {
		err = retryErrno(func() error {
			m, err := unix.CopyFileRange(int(fd), nil, int(dst.Fd()), to, int(min(n, maxCopy)), 0)
			copied = int64(max(m, 0))
			return err
		})
	})
	if cerr != nil {
		return 0, cerr
	}
	return copied, err
}

// NoKernelCopy reports whether err of CopyOn says that another way may do:
// other file systems, other kinds of files, one that is appended to, a filter.
func NoKernelCopy(err error) bool {
	return Absent(err) || err == unix.EPERM || err == unix.EBADF
}
