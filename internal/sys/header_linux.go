package sys

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What package header does to files. Numbers of descriptors are of a
// syscall.RawConn, and valid for the call; errors are bare.

// OpenExact opens the regular file path itself. What else is there, be it a
// symlink, is a *NotRegularError, and is not waited for.
func OpenExact(path string, write bool) (*os.File, error) {
	flags := ExactFlags(write)
	fd, err := openExact(path, flags)
	switch err {
	case nil:
	case unix.ELOOP, unix.EISDIR, unix.ENXIO: // a symlink, a folder, a socket
		if fi, lerr := os.Lstat(path); lerr == nil {
			err = cmp.Or(NotRegular(fi.Mode()), err)
		}
		return nil, err
	default:
		return nil, err
	}
	var st unix.Stat_t
	err = Retry(func() error { return unix.Fstat(fd, &st) })
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = NotRegular(typeOf(st.Mode))
	}
	if err == nil {
		// Taken back, lest os.NewFile try the runtime's poller.
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags&^(unix.O_NONBLOCK|unix.O_NOFOLLOW))
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OpenRegular opens the file path itself: a symlink in its place is ELOOP. What
// else a stranger may have put there, a FIFO, is not waited for: the caller
// looks at what it got.
func OpenRegular(path string, write bool) (*os.File, error) {
	fd, err := openExact(path, ExactFlags(write))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// typeOf is the type of a file of stat(2).
func typeOf(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFBLK:
		return fs.ModeDevice
	case unix.S_IFCHR:
		return fs.ModeDevice | fs.ModeCharDevice
	}
	return fs.ModeIrregular
}

// ExactFlags are the flags of OpenRegular.
func ExactFlags(write bool) int {
	if write {
		return unix.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK
	}
	return unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK
}

func openExact(path string, flags int) (fd int, err error) {
	err = Retry(func() (err error) {
		fd, err = unix.Openat(unix.AT_FDCWD, path, flags|unix.O_CLOEXEC|unix.O_LARGEFILE, 0)
		return err
	})
	return fd, err
}

// InodeOf is the number of the file's inode.
func InodeOf(fd int) (uint64, error) {
	var st unix.Stat_t
	err := Retry(func() error { return unix.Fstat(fd, &st) })
	return st.Ino, err
}

// AccessTime is when the file was last read, as far as the system records it.
func AccessTime(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Atim.Unix())
	}
	return time.Time{}
}

// SetTimes sets the times of access and modification (futimens(3)). Of a zero
// time it leaves the one that is there.
func SetTimes(fd int, access, modification time.Time) error {
	var ts [2]unix.Timespec
	for i, t := range []time.Time{access, modification} {
		ts[i].Nsec = unix.UTIME_OMIT
		if !t.IsZero() {
			var err error
			if ts[i], err = unix.TimeToTimespec(t); err != nil {
				return err
			}
		}
	}
	return Retry(func() error { return unix.UtimesNanoAt(fd, "", ts[:], unix.AT_EMPTY_PATH) })
}

// maxAttr is XATTR_SIZE_MAX, the longest value of an extended attribute, and
// XATTR_LIST_MAX, the longest list of their names.
const maxAttr = 64 << 10

// GetAttr returns an extended attribute. A longer one than Linux allows, which
// a file system of a user may claim to have, is E2BIG.
func GetAttr(fd int, name string) ([]byte, error) {
	var most [512]byte
	buf := most[:] // not on the heap, as most files have none
	for {
		n, err := unix.Fgetxattr(fd, name, buf)
		switch {
		case err == unix.EINTR:
		case err == unix.ERANGE && len(buf) > maxAttr:
			return nil, unix.E2BIG
		case err == unix.ERANGE: // longer, or it has grown
			if n, err = unix.Fgetxattr(fd, name, nil); err != nil && err != unix.EINTR {
				return nil, err
			}
			if n > maxAttr {
				return nil, unix.E2BIG
			}
			// At least twice as long as before: it may have grown in between.
			buf = make([]byte, max(n+64, min(2*len(buf), maxAttr+1)))
		case err != nil:
			return nil, err
		default:
			return append([]byte(nil), buf[:n]...), nil
		}
	}
}

// SetAttr sets an extended attribute.
func SetAttr(fd int, name string, value []byte) error {
	return Retry(func() error { return unix.Fsetxattr(fd, name, value, 0) })
}

// NoRoomForAttr reports whether err says that this attribute cannot be kept
// there: the file system has no such attributes, or no room for one more.
func NoRoomForAttr(err error) bool {
	switch err {
	case unix.EOPNOTSUPP, unix.ENOSYS, unix.ENOSPC, unix.EDQUOT, unix.E2BIG, unix.EPERM, unix.EACCES:
		return true
	}
	return false
}

// A Layout is what decides how a file can be moved about.
type Layout struct {
	Magic uint32 // of the file system
	Block int64  // its unit of allocation, in bytes
}

// LayoutOf asks the file system of f.
func LayoutOf(f *os.File) (Layout, error) {
	var st unix.Statfs_t
	err := WithFD(f, func(fd int) error { return unix.Fstatfs(fd, &st) })
	return Layout{Magic: uint32(st.Type), Block: int64(st.Bsize)}, err
}

// FastAllocation reports whether fallocate(2) before a write makes the write
// cheaper. On ext4 and XFS it does: one extent is looked up, where each folio
// would reserve its blocks. btrfs gains nothing, and would no longer compress.
func (l Layout) FastAllocation() bool {
	return l.Magic == unix.EXT4_SUPER_MAGIC || l.Magic == unix.XFS_SUPER_MAGIC
}

// NoSharing reports whether files are known not to share blocks here.
func (l Layout) NoSharing() bool {
	return l.Magic == unix.EXT4_SUPER_MAGIC || l.Magic == unix.TMPFS_MAGIC || l.Magic == unix.F2FS_SUPER_MAGIC
}

// Remote reports whether the data is on another machine, which may copy it
// without sending it here and back.
func (l Layout) Remote() bool {
	return l.Magic == unix.NFS_SUPER_MAGIC || l.Magic == unix.SMB2_SUPER_MAGIC || l.Magic == unix.CIFS_SUPER_MAGIC || l.Magic == unix.CEPH_SUPER_MAGIC
}

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

// Unreadable reports whether err of CopyMapped is about src.
func Unreadable(err error) bool {
	return err == unix.EFAULT || err == unix.ENODEV || err == unix.EACCES
}

// WriteAt writes all of b at off, or tells how much of it and why not more.
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

// Allocate gives the range of the file blocks, and the file the size to its
// end if it is shorter (fallocate(2)).
func Allocate(fd int, off, n int64) error {
	return Retry(func() error { return unix.Fallocate(fd, 0, off, n) })
}

// Truncate sets the size of the file.
func Truncate(fd int, size int64) error {
	return Retry(func() error { return unix.Ftruncate(fd, size) })
}

// SyncData makes the file's content durable, with the metadata that is needed
// to read it, and SyncAll all that is known of it (fdatasync(2), fsync(2)).
func SyncData(f *os.File) error {
	return WithFD(f, unix.Fdatasync)
}

// SyncAll is fsync(2).
func SyncAll(f *os.File) error {
	return WithFD(f, unix.Fsync)
}

// rawTemp is a Temp as a syscall.RawConn. It is not polled.
type rawTemp int

// SyscallConn gives access to the descriptor.
func (t Temp) SyscallConn() (syscall.RawConn, error) { return rawTemp(t.fd()), nil }

func (r rawTemp) Control(f func(fd uintptr)) error {
	f(uintptr(r))
	return nil
}

func (r rawTemp) Read(f func(fd uintptr) bool) error  { return syscall.EOPNOTSUPP }
func (r rawTemp) Write(f func(fd uintptr) bool) error { return syscall.EOPNOTSUPP }
