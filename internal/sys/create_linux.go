package sys

import (
	"bytes"
	"io/fs"
	"os"
	"strconv"
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

// OpenTmpfile makes a file without a name in dir (open(2), O_TMPFILE).
func OpenTmpfile(dir string) (*os.File, error) {
	var fd int
	err := Retry(func() (err error) {
		fd, err = unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		return err
	})
	if err != nil {
		return nil, os.NewSyscallError("open O_TMPFILE", err)
	}
	return os.NewFile(uintptr(fd), dir), nil
}
