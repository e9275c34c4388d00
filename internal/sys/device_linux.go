package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// DeviceOf returns the numbers of the device that a file's status names.
func DeviceOf(f *os.File) (major, minor uint32, err error) {
	var st unix.Stat_t
	err = WithFD(f, func(fd int) error { return unix.Fstat(fd, &st) })
	return unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), os.NewSyscallError("fstat", err)
}
