package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// NewMemory creates a file in memory that Seal can seal. name shows in /proc only.
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

// Seal makes a file of NewMemory immutable: no writes, no change of size, no other
// seals (fcntl(2), F_ADD_SEALS). It fails with EBUSY while the file is mapped for
// writing.
func Seal(f *os.File) error {
	return WithFD(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
			unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
		return err
	})
}
