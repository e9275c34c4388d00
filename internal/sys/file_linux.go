package sys

import (
	"bytes"
	"io/fs"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CreateUse says what CreateFile does with a name that is there already.
type CreateUse int

const (
	// CreateNew: refuse it with EEXIST, a symlink too, wherever it leads.
	CreateNew CreateUse = unix.O_EXCL
	// CreateEmpty: truncate the file. A symlink is refused with ELOOP.
	CreateEmpty CreateUse = unix.O_TRUNC | unix.O_NOFOLLOW
	// CreateOpen: leave the file as it is. A symlink is refused with ELOOP.
	CreateOpen CreateUse = unix.O_NOFOLLOW
)

// CreateFile makes the file path and opens it for reading and writing. The
// file's name, which its errors tell, is name.
//
// os.OpenFile would try to hand the descriptor to the runtime's poller, which
// takes five calls: O_NONBLOCK is set, epoll_ctl(2) refuses regular files with
// EPERM, and O_NONBLOCK is taken back. os.NewFile asks for the flags, one
// call, and leaves a blocking descriptor as it is.
func (d Dir) CreateFile(path, name string, perm fs.FileMode, use CreateUse) (*os.File, error) {
	return d.openFile(path, name, int(use)|unix.O_CREAT|unix.O_RDWR, perm)
}

// OpenUnnamed makes a file in d that has no name (O_TMPFILE). Not all file
// systems have such files; see Absent.
func (d Dir) OpenUnnamed(name string, perm fs.FileMode) (*os.File, error) {
	return d.openFile(".", name, unix.O_TMPFILE|unix.O_RDWR, perm)
}

func (d Dir) openFile(path, name string, flags int, perm fs.FileMode) (*os.File, error) {
	var buf [pathBuf]byte
	p, err := dirPath(&buf, path)
	if err != nil {
		return nil, err
	}
	for {
		fd, _, e := syscall.Syscall6(unix.SYS_OPENAT, uintptr(d.fd()), uintptr(unsafe.Pointer(p)),
			uintptr(flags|unix.O_CLOEXEC|unix.O_LARGEFILE), modeBits(perm), 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return nil, e
		}
		return os.NewFile(fd, name), nil
	}
}

// TouchFile makes the empty file path and opens nothing: mknodat(2) of a
// regular file, which needs no privilege and no descriptor.
func (d Dir) TouchFile(path string, perm fs.FileMode) error {
	var buf [pathBuf]byte
	p, err := dirPath(&buf, path)
	if err != nil {
		return err
	}
	err = dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall6(unix.SYS_MKNODAT, uintptr(d.fd()), uintptr(unsafe.Pointer(p)), unix.S_IFREG|modeBits(perm), 0, 0, 0)
		return e
	})
	if err != unix.EPERM && err != unix.ENOSYS {
		return err
	}
	// A seccomp filter that fears device nodes.
	for {
		fd, _, e := syscall.Syscall6(unix.SYS_OPENAT, uintptr(d.fd()), uintptr(unsafe.Pointer(p)),
			unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, modeBits(perm), 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return e
		}
		return newDir(int(fd)).Close()
	}
}

func modeBits(perm fs.FileMode) uintptr {
	mode := uintptr(perm.Perm())
	if perm&fs.ModeSetuid != 0 {
		mode |= unix.S_ISUID
	}
	if perm&fs.ModeSetgid != 0 {
		mode |= unix.S_ISGID
	}
	if perm&fs.ModeSticky != 0 {
		mode |= unix.S_ISVTX
	}
	return mode
}

// Umask is the umask of the calling thread, or 0 where there is no /proc that
// tells it: umask(2) does so only to those who set another one, for all
// threads. It takes three calls.
func Umask() (fs.FileMode, error) {
	const name, field = "/proc/thread-self/status", "\nUmask:\t"
	fd, err := openFD(unix.AT_FDCWD, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if indirect(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	f := newTemp(fd)
	defer f.Close()
	var head [256]byte // the field is the second
	n, err := f.Read(head[:])
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(head[:n], []byte(field))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, err := strconv.ParseUint(string(line), 8, 9)
	if err != nil {
		return 0, nil // before Linux 4.7
	}
	return fs.FileMode(mask), nil
}

// noEmptyPath is set once linkat(2) has refused AT_EMPTY_PATH and taken the
// way through /proc: before Linux 6.10 it wants CAP_DAC_READ_SEARCH.
var noEmptyPath atomic.Bool

// LinkFile gives f, which may have no name, the name path. A name that is
// there is refused with EEXIST.
func (d Dir) LinkFile(f *os.File, path string) error {
	if !noEmptyPath.Load() {
		err := WithFD(f, func(fd int) error { return unix.Linkat(fd, "", d.fd(), path, unix.AT_EMPTY_PATH) })
		if err != unix.ENOENT && err != unix.EINVAL && err != unix.EPERM {
			return err
		}
	}
	err := WithFD(f, func(fd int) error {
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), d.fd(), path, unix.AT_SYMLINK_FOLLOW)
	})
	if err == nil {
		noEmptyPath.Store(true)
	}
	return err
}

// RenameNew renames the file from to a name that must not be there, else
// EEXIST.
func (d Dir) RenameNew(from, to string) error {
	left, err := d.moveNew(from, d, to)
	if err == nil && left != unix.ENOENT {
		err = left
	}
	return err
}

// MoveNew is RenameNew of a temporary file, into any directory of the file
// system. Where that is two calls it is done after the first: if the old name
// cannot be removed, it is left.
func (d Dir) MoveNew(from string, other Dir, to string) error {
	_, err := d.moveNew(from, other, to)
	return err
}

// moveNew also tells why the old name is left, if it is.
func (d Dir) moveNew(from string, other Dir, to string) (left, err error) {
	err = Retry(func() error { return unix.Renameat2(d.fd(), from, other.fd(), to, unix.RENAME_NOREPLACE) })
	if err != unix.EINVAL && err != unix.ENOSYS {
		return nil, err
	}
	// The file system does not know the flag.
	if err := Retry(func() error { return unix.Linkat(d.fd(), from, other.fd(), to, 0) }); err != nil {
		return nil, err
	}
	return d.Remove(from), nil
}

// Rename renames the file from to the name to, in place of what is there.
func (d Dir) Rename(from, to string) error { return d.Move(from, d, to) }

// Move is Rename into another directory of the file system.
func (d Dir) Move(from string, other Dir, to string) error {
	var buf, buf2 [pathBuf]byte
	p, err := dirPath(&buf, from)
	if err != nil {
		return err
	}
	q, err := dirPath(&buf2, to)
	if err != nil {
		return err
	}
	// Not renameat(2): riscv64 has only renameat2.
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall6(unix.SYS_RENAMEAT2, uintptr(d.fd()), uintptr(unsafe.Pointer(p)),
			uintptr(other.fd()), uintptr(unsafe.Pointer(q)), 0, 0)
		return e
	})
}

// Remove removes the file path. A directory is refused.
func (d Dir) Remove(path string) error {
	var buf [pathBuf]byte
	p, err := dirPath(&buf, path)
	if err != nil {
		return err
	}
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall(unix.SYS_UNLINKAT, uintptr(d.fd()), uintptr(unsafe.Pointer(p)), 0)
		return e
	})
}

// NewMemory makes a file in memory that Seal can seal. name is for /proc only.
func NewMemory(name string) (*os.File, error) {
	var fd int
	err := Retry(func() (err error) {
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Seal makes a file of NewMemory immutable: no write, no other size, and no
// other seals (fcntl(2), F_ADD_SEALS). EBUSY: it is mapped for writing.
func Seal(f *os.File) error {
	return WithFD(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
			unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
		return err
	})
}

// FileLimits reads the limits on descriptors of this process (RLIMIT_NOFILE).
// It needs no descriptor.
func FileLimits() (soft, hard uint64, err error) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0, 0, os.NewSyscallError("getrlimit", err)
	}
	return r.Cur, r.Max, nil
}

// SetFileLimit sets the soft limit. package syscall's call is taken because
// it also tells the runtime, which else gives children the limit that the
// process began with.
func SetFileLimit(soft uint64) error {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	r.Cur = soft
	return os.NewSyscallError("setrlimit", syscall.Setrlimit(syscall.RLIMIT_NOFILE, &r))
}

// OpenFiles counts the descriptors of this process. Since Linux 6.2 they are
// the size of the directory, and counting needs no descriptor itself.
func OpenFiles() (uint64, error) {
	const dir = "/proc/self/fd"
	fi, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	if n := fi.Size(); n > 0 {
		return uint64(n), nil
	}
	fds, err := os.ReadDir(dir)
	return uint64(max(0, len(fds)-1)), err // without the one that reads
}

// SystemFiles reads how many open files the whole system has, and may have
// (fs.file-max).
func SystemFiles() (used, most uint64, err error) {
	const name = "/proc/sys/fs/file-nr"
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(b) // open, free (always 0), most
	if len(fields) != 3 {
		return 0, 0, &os.PathError{Op: "parse", Path: name, Err: unix.EINVAL}
	}
	if used, err = strconv.ParseUint(string(fields[0]), 10, 64); err == nil {
		most, err = strconv.ParseUint(string(fields[2]), 10, 64)
	}
	return used, most, err
}

func Retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}
