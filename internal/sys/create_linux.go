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

// CreateUse is what CreateFile does with an existing name.
type CreateUse int

const (
	// CreateNew fails with EEXIST, also for a symlink, wherever it leads.
	CreateNew CreateUse = unix.O_EXCL
	// CreateEmpty truncates the file. A symlink fails with ELOOP.
	CreateEmpty CreateUse = unix.O_TRUNC | unix.O_NOFOLLOW
	// CreateOpen keeps the file as it is. A symlink fails with ELOOP.
	CreateOpen CreateUse = unix.O_NOFOLLOW
)

// CreateFile creates the file path and opens it for reading and writing. The file's
// name, for its errors, is name.
//
// os.OpenFile would offer the descriptor to the runtime's poller, which takes five
// calls: it sets O_NONBLOCK, epoll_ctl(2) refuses regular files with EPERM, and it
// clears O_NONBLOCK. os.NewFile reads the flags, one call, and leaves a blocking
// descriptor as it is.
func (d Dir) CreateFile(path, name string, perm fs.FileMode, use CreateUse) (*os.File, error) {
	return d.openFile(path, name, int(use)|unix.O_CREAT|unix.O_RDWR, perm)
}

// OpenUnnamed creates a file without a name in d (O_TMPFILE). Not all file systems
// have such files; see Absent.
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

// TouchFile creates the empty file path without opening it: mknodat(2) of a regular
// file needs no privilege and no descriptor.
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
	// A seccomp filter that refuses mknodat(2) because of device nodes.
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

// Umask returns the umask of the calling thread, or 0 without /proc: umask(2)
// returns it only by setting another one for all threads. It takes three calls.
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

// OpenTmpfile creates a file without a name in dir (open(2), O_TMPFILE).
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
