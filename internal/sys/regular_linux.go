package sys

import (
	"cmp"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// OpenExact opens the regular file path itself, without waiting. The error of any
// other file, a symlink too, is a *NotRegularError.
func OpenExact(path string, write bool) (*os.File, error) {
	flags := ExactFlags(write)
	fd, err := openExact(path, flags)
	switch err {
	case nil:
	case unix.ELOOP, unix.EISDIR, unix.ENXIO: // a symlink, a directory, a socket
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
		// Cleared, so that os.NewFile does not try the runtime's poller.
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags&^(unix.O_NONBLOCK|unix.O_NOFOLLOW))
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OpenRegular opens the file path itself, without waiting for the other end of a
// FIFO. A symlink fails with ELOOP; the caller checks the kind of any other file.
func OpenRegular(path string, write bool) (*os.File, error) {
	fd, err := openExact(path, ExactFlags(write))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// typeOf returns the type of a file from its mode of stat(2).
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

// ExactFlags returns the flags of OpenRegular.
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
