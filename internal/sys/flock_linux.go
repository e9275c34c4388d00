package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// Unlock releases a lock of TryLock, also if a child process has a copy of the
// descriptor.
func Unlock(f *os.File) error {
	if err := WithFD(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) }); err != nil {
		return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return nil
}

// TryLock takes flock(2)'s exclusive lock on f without waiting. It returns false if
// another open file has it. The kernel drops the lock when the last descriptor of
// this open file is closed, so also when the process is killed. On NFS it fails with
// EBADF unless f is open for writing.
func TryLock(f *os.File) (bool, error) {
	switch err := WithFD(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) }); err {
	case nil:
		return true, nil
	case unix.EWOULDBLOCK:
		return false, nil
	default:
		return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
}
