package sys

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenRead opens a file for reading. It does not wait for the other end of a FIFO
// (O_NONBLOCK): the caller checks the kind of the file. Regular files and
// directories ignore the flag.
//
// See CreateFile for why this is not os.OpenFile.
func OpenRead(name string, direct bool) (*os.File, error) {
	return openRead(name, direct, func(flags int) (fd int, err error) { return unix.Open(name, flags|unix.O_CLOEXEC, 0) })
}

// OpenReadBeneath is OpenRead below root, confined as OpenFileBeneath is.
func OpenReadBeneath(root *os.Root, name string, direct, oneMount bool) (*os.File, error) {
	path, err := CleanBeneath(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	d, err := RootDir(root, ForPath)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: root.Name(), Err: err}
	}
	defer d.Close()
	return openRead(name, direct, func(flags int) (int, error) { return d.openFileBeneath(path, flags, 0, oneMount) })
}

// ReopenRead opens the file of f again, for reading past the page cache.
func ReopenRead(f *os.File) (*os.File, error) {
	return openRead(f.Name(), true, func(flags int) (fd int, err error) {
		err = WithFD(f, func(old int) (err error) {
			fd, err = unix.Open("/proc/self/fd/"+strconv.Itoa(old), flags|unix.O_CLOEXEC, 0)
			return err
		})
		return fd, err
	})
}

func openRead(name string, direct bool, open func(flags int) (int, error)) (*os.File, error) {
	flags := unix.O_RDONLY | unix.O_LARGEFILE
	if direct {
		flags |= unix.O_DIRECT
	}
	var fd int
	err := Retry(func() (err error) {
		fd, err = open(flags | unix.O_NONBLOCK)
		return err
	})
	if err == nil {
		// Cleared, so that os.NewFile does not try the runtime's poller.
		if _, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags); err != nil {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Reopen opens the file of f again for writing, whatever its name is now: past the
// page cache (O_DIRECT), or with each write durable before it returns (O_DSYNC), or
// both.
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

// OpenedFor returns how f was opened.
func OpenedFor(f *os.File) (Opened, error) {
	var flags int
	err := WithFD(f, func(fd int) (err error) {
		flags, err = unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		return err
	})
	access := flags & unix.O_ACCMODE
	open := err == nil && flags&unix.O_PATH == 0
	return Opened{
		Read:    open && access != unix.O_WRONLY,
		Write:   open && access != unix.O_RDONLY,
		Append:  flags&unix.O_APPEND != 0,
		Durable: flags&unix.O_DSYNC != 0,
	}, err
}
