package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

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
