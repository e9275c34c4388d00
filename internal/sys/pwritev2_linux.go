package sys

import (
	"io"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// WriteDurably writes all of b at off by pwritev2(2) with RWF_DSYNC: what it
// wrote is durable, with the metadata needed to read it, when it returns. It
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

// Reopen opens the file behind f once more for writing, whatever its name is
// now: past the page cache (O_DIRECT), or with every write durable before it
// returns (O_DSYNC), or both.
func Reopen(f *os.File, direct, dsync bool) (*os.File, error) {
	// Not O_RDWR: an owner may write a file of mode 0200 and not read it.
	flags := unix.O_WRONLY | unix.O_CLOEXEC
	if direct {
		flags |= unix.O_DIRECT
	}
	if dsync {
		flags |= unix.O_DSYNC
	}
	var fd int
	err := WithFD(f, func(old int) (err error) {
		fd, err = unix.Open("/proc/self/fd/"+strconv.Itoa(old), flags, 0)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open again", Path: f.Name(), Err: err}
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
