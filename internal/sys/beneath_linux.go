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

// RootDir opens the directory of r again. The result stays open when r is closed.
func RootDir(r *os.Root, how DirUse) (Dir, error) {
	f, err := r.OpenFile(".", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return Dir{}, bare(err)
	}
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return Dir{}, err
	}
	var d Dir
	cerr := conn.Control(func(fd uintptr) {
		d, err = openat(int(fd), ".", int(how)|unix.O_DIRECTORY|unix.O_CLOEXEC)
	})
	if cerr != nil {
		return Dir{}, cerr
	}
	return d, err
}

// noOpenat2 is set once the kernel, or a seccomp filter, refused openat2(2).
var noOpenat2 atomic.Bool

// OpenBeneath opens the directory path, which must be clean (CleanBeneath), without
// following a symlink and without leaving d. The error of a symlink is ELOOP, or
// ENOTDIR on kernels without openat2(2). With oneMount a mount point below d is
// EXDEV.
//
// It takes one openat2(2) (Linux 5.6), or one openat(2) for each component where
// that is missing.
func (d Dir) OpenBeneath(path string, how DirUse, oneMount bool) (Dir, error) {
	fd, err := d.beneath(path, int(how)|unix.O_DIRECTORY, 0, oneMount)
	switch err {
	case nil:
		return newDir(fd), nil
	case errNoOpenat2:
	default:
		return Dir{}, err
	}
	sub, err := d.walk(path, how)
	if err != nil || !oneMount {
		return sub, err
	}
	if err := sameMount(d.fd(), sub.fd()); err != nil {
		sub.Close()
		return Dir{}, err
	}
	return sub, nil
}

// OpenFileBeneath opens the file path with the flags and perm of openat(2), confined
// as OpenBeneath is. The file's name, for its errors, is name. The caller adds
// O_NONBLOCK where the path may be a FIFO, as the open waits for its other end
// otherwise. O_PATH is not supported.
func (d Dir) OpenFileBeneath(path, name string, flags int, perm fs.FileMode, oneMount bool) (*os.File, error) {
	fd, err := d.openFileBeneath(path, flags, perm, oneMount)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (d Dir) openFileBeneath(path string, flags int, perm fs.FileMode, oneMount bool) (int, error) {
	fd, err := d.beneath(path, flags, perm, oneMount)
	if err == errNoOpenat2 {
		return d.walkFile(path, flags, perm, oneMount)
	}
	return fd, err
}

// errNoOpenat2: open the path component by component.
const errNoOpenat2 = syscall.ENOSYS

func (d Dir) beneath(path string, flags int, perm fs.FileMode, oneMount bool) (int, error) {
	if noOpenat2.Load() {
		return -1, errNoOpenat2
	}
	fd, err := d.openat2(path, flags, perm, oneMount)
	if err == unix.EXDEV && oneMount {
		fd, err = d.openat2(path, flags, perm, oneMount) // a mount point refuses again
	}
	switch err {
	case unix.ENOSYS, unix.EPERM:
		// EPERM: a seccomp filter older than openat2, which refuses a harmless
		// call too, or a rule of the file (O_NOATIME, an immutable file).
		if err == unix.EPERM && d.hasOpenat2() {
			return -1, err
		}
		noOpenat2.Store(true)
		return -1, errNoOpenat2
	case unix.EAGAIN:
		// The kernel could not tell, because of a rename meanwhile.
		return -1, errNoOpenat2
	case unix.EXDEV:
		// path has no way out. What openat2 had found was moved out of d before
		// its last check, complete_walk in the kernel's fs/namei.c.
		if !oneMount {
			return -1, errNoOpenat2
		}
	}
	return fd, err
}

func (d Dir) hasOpenat2() bool {
	fd, err := d.openat2(".", unix.O_PATH|unix.O_DIRECTORY, 0, false)
	if err == nil {
		unix.Close(fd)
	}
	return err != unix.ENOSYS && err != unix.EPERM // EMFILE, too, tells that it is there
}

func (d Dir) openat2(path string, flags int, perm fs.FileMode, oneMount bool) (int, error) {
	var buf [pathBuf]byte
	p, err := dirPath(&buf, path)
	if err != nil {
		return -1, err
	}
	h := unix.OpenHow{
		Flags:   uint64(flags) | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	if flags&unix.O_CREAT != 0 {
		h.Mode = uint64(modeBits(perm)) // any other mode than 0 is EINVAL without O_CREAT
	}
	if flags&unix.O_PATH == 0 {
		h.Flags |= unix.O_LARGEFILE // openat2(2) refuses more than these with O_PATH
	}
	if oneMount {
		h.Resolve |= unix.RESOLVE_NO_XDEV
	}
	for {
		fd, _, e := syscall.Syscall6(unix.SYS_OPENAT2, uintptr(d.fd()), uintptr(unsafe.Pointer(p)),
			uintptr(unsafe.Pointer(&h)), unsafe.Sizeof(h), 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return -1, e
		}
		return int(fd), nil
	}
}

// walk opens a directory below d on kernels without openat2(2). path is clean.
func (d Dir) walk(path string, how DirUse) (Dir, error) {
	at := d
	for {
		i := 0
		for i < len(path) && path[i] != '/' {
			i++
		}
		last := i == len(path)
		h := ForPath
		if last {
			h = how
		}
		next, err := at.OpenChild(path[:i], h)
		if at != d {
			at.Close()
		}
		if err != nil || last {
			return next, err
		}
		at, path = next, path[i+1:]
	}
}

// walkFile opens a file below d on kernels without openat2(2). path is clean.
func (d Dir) walkFile(path string, flags int, perm fs.FileMode, oneMount bool) (int, error) {
	dir, base := splitBeneath(path)
	at, err := d.walk(dir, ForPath)
	if err != nil {
		return -1, err
	}
	defer at.Close()
	flags |= unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_LARGEFILE
	if !oneMount {
		return openFD(at.fd(), base, flags, modeBits(perm))
	}
	// Before a file is created, or truncated, below a mount point. A file that is
	// a mount point itself is there already.
	if err := sameMount(d.fd(), at.fd()); err != nil {
		return -1, err
	}
	fd, err := openFD(at.fd(), base, flags&^unix.O_TRUNC, modeBits(perm))
	if err != nil {
		return -1, err
	}
	if err = sameMount(d.fd(), fd); err == nil && flags&unix.O_TRUNC != 0 {
		err = truncateRegular(fd)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// truncateRegular does what O_TRUNC does, to an open file.
func truncateRegular(fd int) error {
	var st unix.Stat_t
	if err := Retry(func() error { return unix.Fstat(fd, &st) }); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return err
	}
	return Truncate(fd, 0)
}

// sameMount returns EXDEV if two descriptors are of different mounts. It reads
// /proc: kernels without openat2(2) have no STATX_MNT_ID either.
func sameMount(a, b int) error {
	m, err := mountOf(a)
	if err != nil {
		return err
	}
	n, err := mountOf(b)
	if err != nil {
		return err
	}
	if m != n {
		return unix.EXDEV
	}
	return nil
}

func mountOf(fd int) (uint64, error) {
	b, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0, bare(err)
	}
	_, rest, _ := bytes.Cut(b, []byte("mnt_id:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return strconv.ParseUint(string(bytes.TrimSpace(line)), 10, 64)
}
