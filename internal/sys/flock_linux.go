package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// Unlock gives back a lock of TryLock or Lock, also if a child process has a
// copy of the descriptor.
func Unlock(f *os.File) error {
	if err := WithFD(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) }); err != nil {
		return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return nil
}

// TryLock takes flock(2)'s exclusive lock on f without waiting. It reports
// false when somebody else holds it. The kernel drops the lock when the last
// descriptor of this open file is closed, so also when the process is killed.
// EBADF: on NFS it needs a descriptor for writing.
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
