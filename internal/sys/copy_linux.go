package sys

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// NextData is the first range of f from off on that holds data (SEEK_DATA,
// SEEK_HOLE). It begins at size if there is none. It moves f's offset.
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

// CloneTail has dst share the blocks of src from off on to its end, at the
// offset to (FICLONERANGE). Both offsets are multiples of the block.
func CloneTail(dst int, to int64, src *os.File, off int64) error {
	return WithFD(src, func(fd int) error {
		r := unix.FileCloneRange{Src_fd: int64(fd), Src_offset: uint64(off), Dest_offset: uint64(to)}
		return unix.IoctlFileCloneRange(dst, &r)
	})
}

// maxCopy is what one copy_file_range(2) takes at most, in bytes.
const maxCopy = 1 << 30

// CopyInKernel copies n bytes of src from off on to dst at the offset to, by
// copy_file_range(2), and tells how many. Less without an error: src has become
// shorter.
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

// mappedPiece is what CopyMapped maps at a time. Above 4 MiB nothing is gained.
const mappedPiece = 4 << 20

// mappedWrite is what it writes at a time: for larger writes the page cache
// takes larger pieces of memory, which may have to be made first.
const mappedWrite = 128 << 10

// CopyMapped copies n bytes of src from off on to dst at the offset to, and
// tells how many. It writes straight from a mapping, so that the bytes are
// copied once in memory, not twice. Where src has become shorter, or cannot be
// read, that is EFAULT of write(2), no signal: nobody here touches the memory.
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

// willNeed has the kernel begin to read n bytes at off, where it has them not
// yet: by page faults alone it would read them one readahead window after the
// other. One call reads no more than such a window, or one request of the
// device (force_page_cache_ra); 128 KiB is what both are by default, or more.
func willNeed(fd int, off, n int64) {
	const window = 128 << 10
	for ; n > 0; off, n = off+window, n-window {
		unix.Fadvise(fd, off, min(n, window), unix.FADV_WILLNEED)
	}
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

// Unreadable reports whether err of CopyMapped is about src.
func Unreadable(err error) bool {
	return err == unix.EFAULT || err == unix.ENODEV || err == unix.EACCES
}
