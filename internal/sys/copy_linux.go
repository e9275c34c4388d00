package sys

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// NextData returns the first range of f from off that holds data (SEEK_DATA,
// SEEK_HOLE). start is size if there is none. It moves f's offset.
func NextData(f *os.File, off, size int64) (start, end int64, err error) {
	err = WithFD(f, func(fd int) (err error) {
		start, err = unix.Seek(fd, off, unix.SEEK_DATA)
		return err
	})
	switch err {
	case nil:
	case unix.ENXIO: // a hole up to the end
		return size, size, nil
	case unix.EINVAL: // the file system does not tell
		return off, size, nil
	default:
		return 0, 0, err
	}
	err = WithFD(f, func(fd int) (err error) {
		end, err = unix.Seek(fd, start, unix.SEEK_HOLE)
		return err
	})
	return min(start, size), min(end, size), err
}

// CloneTail makes dst, from its offset to, share the blocks of src from off to the
// end (FICLONERANGE). Both offsets must be multiples of the block size.
func CloneTail(dst int, to int64, src *os.File, off int64) error {
	return WithFD(src, func(fd int) error {
		r := unix.FileCloneRange{Src_fd: int64(fd), Src_offset: uint64(off), Dest_offset: uint64(to)}
		return unix.IoctlFileCloneRange(dst, &r)
	})
}

// maxCopy is the most that one copy_file_range(2) is asked for, in bytes.
const maxCopy = 1 << 30

// CopyInKernel copies n bytes of src at off to dst at the offset to, by
// copy_file_range(2), and returns how many it copied: fewer than n without an error
// if src has become shorter.
func CopyInKernel(dst int, to int64, src *os.File, off, n int64) (done int64, err error) {
	for done < n {
		var m int
		err := WithFD(src, func(fd int) (err error) {
			from, at := off+done, to+done
			m, err = unix.CopyFileRange(fd, &from, dst, &at, int(min(n-done, maxCopy)), 0)
			return err
		})
		if err != nil || m == 0 {
			return done, err
		}
		done += int64(m)
	}
	return done, nil
}

// mappedPiece is how much CopyMapped maps at a time, in bytes. More than 4 MiB gains
// nothing.
const mappedPiece = 4 << 20

// mappedWrite is how much CopyMapped writes at a time, in bytes: for larger writes
// the page cache allocates larger pieces of memory, which may have to be compacted
// first.
const mappedWrite = 128 << 10

// CopyMapped copies n bytes of src at off to dst at the offset to, and returns how
// many it copied. It writes from a mapping, so that the bytes are copied once in
// memory, not twice. If src has become shorter or cannot be read, write(2) returns
// EFAULT; there is no signal, as this process does not touch the mapping.
func CopyMapped(dst int, to int64, src *os.File, off, n int64) (done int64, err error) {
	conn, err := src.SyscallConn()
	if err != nil {
		return 0, err
	}
	if cerr := conn.Control(func(fd uintptr) { done, err = copyMapped(dst, to, int(fd), off, n) }); cerr != nil {
		return 0, os.ErrClosed
	}
	return done, err
}

func copyMapped(dst int, to int64, fd int, off, n int64) (done int64, err error) {
	page := int64(os.Getpagesize())
	for done < n {
		at := off + done
		lead := at % page
		piece := min(n-done, mappedPiece-lead)
		if done == 0 {
			willNeed(fd, at, piece)
		}
		// The next piece is read from the disk while this one is written.
		willNeed(fd, at+piece, min(n-done-piece, mappedPiece))
		mem, err := unix.Mmap(fd, at-lead, int(lead+piece), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
		if err != nil {
			return done, err
		}
		for rest := mem[lead:]; len(rest) > 0 && err == nil; {
			var m int
			m, err = WriteAt(dst, rest[:min(len(rest), mappedWrite)], to+done)
			rest, done = rest[m:], done+int64(m)
		}
		unix.Munmap(mem)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// willNeed makes the kernel start to read the n bytes at off that are not cached:
// page faults alone would read one readahead window after the other. One call reads
// at most such a window, or one request of the device (force_page_cache_ra); both
// are 128 KiB or more by default.
func willNeed(fd int, off, n int64) {
	const window = 128 << 10
	for ; n > 0; off, n = off+window, n-window {
		unix.Fadvise(fd, off, min(n, window), unix.FADV_WILLNEED)
	}
}

// CopyOn copies up to n bytes of src, from its offset, to dst at *to, or at the
// offset of dst if to is nil, by one copy_file_range(2): the file system may share
// blocks between the two. The offsets move. It returns 0 without an error at the end
// of src.
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

// NoKernelCopy reports whether err of CopyOn means that a copy through memory may
// still work: other file systems or kinds of files, a file opened with O_APPEND, a
// seccomp filter.
func NoKernelCopy(err error) bool {
	return Absent(err) || err == unix.EPERM || err == unix.EBADF
}

// Unreadable reports whether err of CopyMapped concerns src.
func Unreadable(err error) bool {
	return err == unix.EFAULT || err == unix.ENODEV || err == unix.EACCES
}
