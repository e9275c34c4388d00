package sys

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxWrite is the most that one write(2) is asked for, in bytes. The kernel's
// MAX_RW_COUNT is 2 GiB minus a page.
const maxWrite = 1 << 30

// WriteAt writes all of b at off. It returns how much it wrote, and the error if
// that is less.
func WriteAt(fd int, b []byte, off int64) (n int, err error) {
	for n < len(b) {
		var m int
		err := Retry(func() (err error) {
			m, err = unix.Pwrite(fd, b[n:min(len(b), n+maxWrite)], off+int64(n))
			return err
		})
		switch {
		case err != nil:
			return n, err
		case m <= 0:
			return n, io.ErrUnexpectedEOF
		}
		n += m
	}
	return n, nil
}

// WriteDurably writes all of b at off by pwritev2(2) with RWF_DSYNC: when it
// returns, the written bytes are durable, with the metadata needed to read them. It
// returns how much it wrote. Other bytes of the file are not made durable.
//
// unix.Pwritev2 would allocate its vector.
func WriteDurably(f *os.File, b []byte, off int64) (n int, err error) {
	err = WithFD(f, func(fd int) error {
		for n < len(b) {
			rest := b[n:min(len(b), n+maxWrite)]
			iov := unix.Iovec{Base: &rest[0]}
			iov.SetLen(len(rest))
			at := uint64(off) + uint64(n)
			// The kernel puts the offset together from two longs, whose size it
			// knows (pos_from_hilo).
			const longBits = 8 * unix.SizeofLong
			m, _, e := syscall.Syscall6(unix.SYS_PWRITEV2, uintptr(fd), uintptr(unsafe.Pointer(&iov)), 1,
				uintptr(at), uintptr(at>>(longBits-1)>>1), unix.RWF_DSYNC)
			if e != 0 {
				return e
			}
			if m == 0 {
				return io.ErrUnexpectedEOF
			}
			n += int(m)
		}
		return nil
	})
	return n, err
}

// WriteMode are flags of one write (RWF_*).
type WriteMode int

const (
	// WriteDurable makes the written bytes durable before the write returns, with
	// the metadata needed to read them (RWF_DSYNC). Other bytes of the file are not.
	WriteDurable WriteMode = unix.RWF_DSYNC
	// WriteUncached writes the pages out at once and then drops them (RWF_DONTCACHE,
	// Linux 6.14).
	WriteUncached WriteMode = rwfDontCache
)

// WriteVec writes a and then b at off, in one call where the kernel takes all of it
// (pwritev2(2)). It returns how much it wrote, and the error if that is less.
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

// pwritev2 makes one call. Without flags it is pwrite(2) or pwritev(2), which every
// kernel has and every seccomp filter allows.
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

// NoSuchWrite reports whether err of WriteVec means that the kernel or the file
// system lacks a flag.
func NoSuchWrite(err error) bool {
	return err == unix.EOPNOTSUPP || err == unix.ENOSYS
}
