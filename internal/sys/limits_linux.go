package sys

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// FileLimits returns the limits on the descriptors of this process (RLIMIT_NOFILE).
// It needs no descriptor.
func FileLimits() (soft, hard uint64, err error) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0, 0, os.NewSyscallError("getrlimit", err)
	}
	return r.Cur, r.Max, nil
}

// SetFileLimit sets the soft limit. It uses package syscall, which also informs the
// runtime: otherwise children would get the limit that this process started with.
func SetFileLimit(soft uint64) error {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	r.Cur = soft
	return os.NewSyscallError("setrlimit", syscall.Setrlimit(syscall.RLIMIT_NOFILE, &r))
}

// OpenFiles returns the number of descriptors of this process. Since Linux 6.2 it is
// the size of the directory, which needs no descriptor.
func OpenFiles() (uint64, error) {
	const dir = "/proc/self/fd"
	fi, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	if n := fi.Size(); n > 0 {
		return uint64(n), nil
	}
	fds, err := os.ReadDir(dir)
	return uint64(max(0, len(fds)-1)), err // without the one that reads
}

// SystemFiles returns how many open files the whole system has, and can have
// (fs.file-max).
func SystemFiles() (used, most uint64, err error) {
	const name = "/proc/sys/fs/file-nr"
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(b) // open, free (always 0), most
	if len(fields) != 3 {
		return 0, 0, &os.PathError{Op: "parse", Path: name, Err: unix.EINVAL}
	}
	if used, err = strconv.ParseUint(string(fields[0]), 10, 64); err == nil {
		most, err = strconv.ParseUint(string(fields[2]), 10, 64)
	}
	return used, most, err
}
