package sys

import (
	"io/fs"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CanSyncDir is whether this system can make a directory's entries durable.
const CanSyncDir = true

// A Dir is an open directory. Its methods take paths relative to it, return
// bare errors (syscall.Errno here) and do not allocate for paths shorter
// than pathBuf.
//
// The zero Dir is no directory: its methods fail with EBADF, and its Close
// leaves standard input, descriptor 0, open.
type Dir struct{ ref int } // the descriptor plus one

func newDir(fd int) Dir { return Dir{fd + 1} }

func (d Dir) fd() int { return d.ref - 1 }

// DirUse is what a directory is opened for.
type DirUse int

const (
	// ForPath is only for naming files below it (O_PATH). It needs no permission on
	// the directory itself.
	ForPath DirUse = unix.O_PATH
	// ForSync is for syncing its entries. fsync(2) refuses an O_PATH descriptor, so
	// ForSync needs read permission.
	ForSync DirUse = unix.O_RDONLY
)

// DirInfo is the result of Stat and Lstat.
type DirInfo struct {
	IsDir     bool
	IsSymlink bool
	// Born is when the file was created, in nanoseconds of the file system's own
	// clock, or 0 where the file system does not record it.
	Born int64
}

// OpenDir opens the directory name, following symlinks.
func OpenDir(name string, how DirUse) (Dir, error) {
	return openat(unix.AT_FDCWD, name, int(how)|unix.O_DIRECTORY|unix.O_CLOEXEC)
}

// Confine returns d, which needs no other form to be confined here: OpenChild and
// OpenBeneath confine.
func Confine(d Dir) (Dir, error) { return d, nil }

// Mkdir creates the directory path (mkdirat(2)).
func (d Dir) Mkdir(path string, perm fs.FileMode) error { return mkdirat(d.fd(), path, perm) }

// CurrentDir stands for the working directory of the process at the time of each
// call. It need not be closed.
func CurrentDir() Dir { return newDir(unix.AT_FDCWD) }

// Open opens the directory path, following symlinks.
func (d Dir) Open(path string, how DirUse) (Dir, error) {
	return openat(d.fd(), path, int(how)|unix.O_DIRECTORY|unix.O_CLOEXEC)
}

// OpenChild opens the directory name, a single component. A symlink fails with
// ENOTDIR (O_NOFOLLOW together with O_DIRECTORY).
func (d Dir) OpenChild(name string, how DirUse) (Dir, error) {
	return openat(d.fd(), name, int(how)|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
}

// Rmdir removes the empty directory path (unlinkat(2) with AT_REMOVEDIR). All other
// files, symlinks too, fail with ENOTDIR.
func (d Dir) Rmdir(path string) error { return d.unlink(path, unix.AT_REMOVEDIR) }

func (d Dir) unlink(path string, flags uintptr) error {
	var buf [pathBuf]byte
	p, err := dirPath(&buf, path)
	if err != nil {
		return err
	}
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall(unix.SYS_UNLINKAT, uintptr(d.fd()), uintptr(unsafe.Pointer(p)), flags)
		return e
	})
}

// Stat follows a symlink at the end of path.
func (d Dir) Stat(path string) (DirInfo, error) { return statx(d.fd(), path, 0) }

// Lstat does not follow a symlink at the end of path.
func (d Dir) Lstat(path string) (DirInfo, error) {
	return statx(d.fd(), path, unix.AT_SYMLINK_NOFOLLOW)
}

// Sync makes the directory's entries durable (fsync(2)): syncing a file does not
// sync the entry that names it.
func (d Dir) Sync() error {
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall(unix.SYS_FSYNC, uintptr(d.fd()), 0, 0)
		return e
	})
}

// Close closes the descriptor. Linux frees it even when it returns EINTR, so
// close(2) is never repeated.
func (d Dir) Close() error {
	if err := unix.Close(d.fd()); err != nil && err != unix.EINTR {
		return err
	}
	return nil
}

// topDir is EXT4_TOPDIR_FL of <linux/fs.h>, the attribute T of chattr(1).
const topDir = 0x00020000

// Unrelated marks d so that the file system stores the directories created in it apart
// from each other (chattr(1), T). ext4 then spreads them over its block groups,
// instead of filling one after the other (Orlov's allocator); other file systems
// have no such attribute. The mark is permanent. Only the owner of d can set it.
func (d Dir) Unrelated() error {
	own, err := d.Open(".", ForSync) // ioctl(2) refuses an O_PATH descriptor
	if err != nil {
		return err
	}
	defer own.Close()
	var flags uint32
	err = Retry(func() (err error) {
		flags, err = unix.IoctlGetUint32(own.fd(), unix.FS_IOC_GETFLAGS)
		return err
	})
	if err != nil || flags&topDir != 0 {
		return err
	}
	return Retry(func() error {
		return unix.IoctlSetPointerInt(own.fd(), unix.FS_IOC_SETFLAGS, int(flags|topDir))
	})
}

func mkdirat(fd int, path string, perm fs.FileMode) error {
	var buf [pathBuf]byte
	p, err := dirPath(&buf, path)
	if err != nil {
		return err
	}
	mode := modeBits(perm)
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall(unix.SYS_MKDIRAT, uintptr(fd), uintptr(unsafe.Pointer(p)), mode)
		return e
	})
}

func openat(fd int, path string, flags int) (Dir, error) {
	r, err := openFD(fd, path, flags, 0)
	if err != nil {
		return Dir{}, err
	}
	return newDir(r), nil
}

// openFD makes one openat(2).
func openFD(fd int, path string, flags int, mode uintptr) (int, error) {
	var buf [pathBuf]byte
	p, err := dirPath(&buf, path)
	if err != nil {
		return -1, err
	}
	for {
		r, _, e := syscall.Syscall6(unix.SYS_OPENAT, uintptr(fd), uintptr(unsafe.Pointer(p)), uintptr(flags), mode, 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return -1, e
		}
		return int(r), nil
	}
}

// statx returns the birth time too, and has one number and one struct on every
// architecture.
func statx(fd int, path string, flags int) (DirInfo, error) {
	var buf [pathBuf]byte
	p, err := dirPath(&buf, path)
	if err != nil {
		return DirInfo{}, err
	}
	var st unix.Statx_t
	err = dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(p)),
			uintptr(flags), unix.STATX_TYPE|unix.STATX_BTIME, uintptr(unsafe.Pointer(&st)), 0)
		return e
	})
	if err == unix.ENOSYS || err == unix.EPERM {
		return fstatat(fd, path, flags) // before Linux 4.11, or an old seccomp filter
	}
	if err != nil {
		return DirInfo{}, err
	}
	fi := dirInfo(uint32(st.Mode))
	if st.Mask&unix.STATX_BTIME != 0 {
		fi.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return fi, nil
}

func fstatat(fd int, path string, flags int) (DirInfo, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(fd, path, &st, flags)
		if err == unix.EINTR {
			continue
		}
		return dirInfo(st.Mode), err
	}
}

func dirInfo(mode uint32) DirInfo {
	return DirInfo{IsDir: mode&unix.S_IFMT == unix.S_IFDIR, IsSymlink: mode&unix.S_IFMT == unix.S_IFLNK}
}

// dirCall repeats a call after EINTR. Not all file systems honour SA_RESTART, with
// which the Go runtime installs its handlers.
func dirCall(call func() syscall.Errno) error {
	for {
		switch e := call(); e {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return e
		}
	}
}

// pathBuf is the length of path up to which its NUL-terminated copy stays on the
// stack.
const pathBuf = 256

func dirPath(buf *[pathBuf]byte, s string) (*byte, error) {
	for i := range len(s) {
		if s[i] == 0 {
			return nil, unix.EINVAL
		}
	}
	b := buf[:]
	if len(s) >= len(b) {
		b = make([]byte, len(s)+1)
	}
	copy(b, s)
	b[len(s)] = 0
	return &b[0], nil
}
