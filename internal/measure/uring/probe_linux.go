package uring

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Probe returns nil if the kernel has all operations of a Ring. Otherwise the error
// says why and is errors.ErrUnsupported.
func Probe() error {
	r, err := New(1)
	if err != nil {
		return err
	}
	lack, err := r.lacks()
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	if lack != nil {
		return fmt.Errorf("io_uring: this kernel lacks %s: %w", strings.Join(lack, ", "), errors.ErrUnsupported)
	}
	return nil
}

// probeResult is struct io_uring_probe with room for all operations.
type probeResult struct {
	lastOp, opsLen uint8
	_              uint16
	_              [3]uint32
	ops            [256]struct {
		op    uint8
		_     uint8
		flags uint16
		_     uint32
	}
}

// lacks returns the names of the operations that the kernel does not have.
func (r *Ring) lacks() ([]string, error) {
	p := new(probeResult)
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), registerProbe,
		uintptr(unsafe.Pointer(p)), uintptr(len(p.ops)), 0, 0)
	switch errno {
	case 0:
	case unix.EINVAL: // the probe came with 5.6, and so did plain reads and writes
		return []string{"probe (Linux 5.6)"}, nil
	default:
		return nil, os.NewSyscallError("io_uring_register", errno)
	}
	var lack []string
	for op, code := range opcodes {
		if code > p.lastOp || p.ops[code].flags&opSupported == 0 {
			lack = append(lack, Op(op).String())
		}
	}
	if opCancel > p.lastOp || p.ops[opCancel].flags&opSupported == 0 {
		lack = append(lack, "cancel")
	}
	return lack, nil
}

// disabledSysctl is the sysctl kernel.io_uring_disabled, "" where the kernel
// does not have it (before 6.6).
func disabledSysctl() string {
	data, err := os.ReadFile("/proc/sys/kernel/io_uring_disabled")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// unavailable returns the error of io_uring_setup(2) with its reason and what to
// change.
func unavailable(errno unix.Errno, disabled string) error {
	why := ""
	switch {
	case errno == unix.ENOSYS:
		why = "this kernel has none, or a seccomp filter hides it"
	case errno == unix.EPERM && disabled == "2":
		why = "the sysctl kernel.io_uring_disabled is 2, which disables it; set it to 0"
	case errno == unix.EPERM && disabled == "1":
		why = "the sysctl kernel.io_uring_disabled is 1: run as root or in the group kernel.io_uring_group, or set it to 0"
	case errno == unix.EPERM || errno == unix.EACCES:
		why = "a seccomp filter or a security module forbids it, as Docker's default profile does"
	case errno == unix.ENOMEM:
		why = "its memory is more than RLIMIT_MEMLOCK allows"
	default:
		return os.NewSyscallError("io_uring_setup", errno)
	}
	return fmt.Errorf("io_uring: %s (io_uring_setup: %w): %w", why, errno, errors.ErrUnsupported)
}
