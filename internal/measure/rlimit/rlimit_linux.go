// Package rlimit tries limits on descriptors (RLIMIT_NOFILE) on other processes. The
// primitives read and raise their own in internal/sys.
package rlimit

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// NrOpen returns fs.nr_open, the most descriptors that a process may be allowed, or 0 if
// it cannot be read.
func NrOpen() uint64 {
	b, err := os.ReadFile("/proc/sys/fs/nr_open")
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// ErrNotAllowed says that this process may not raise a hard limit.
var ErrNotAllowed = errors.New("CAP_SYS_RESOURCE is needed to raise a hard limit: run as root")

// SetHard sets the hard limit of a process (prlimit(2)), and lowers its soft limit where
// that is higher. refused reports that the kernel does not allow so high a limit. Without
// CAP_SYS_RESOURCE it allows no higher one than before, so SetHard fails with
// ErrNotAllowed.
func SetHard(pid int, hard uint64) (refused bool, err error) {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &now); err != nil {
		return false, os.NewSyscallError("prlimit", err)
	}
	err = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: min(now.Cur, hard), Max: hard}, nil)
	switch {
	case err == unix.EPERM && hard > now.Max && !mayRaise():
		return false, ErrNotAllowed
	case err == unix.EPERM || err == unix.EINVAL:
		return true, nil
	}
	return false, os.NewSyscallError("prlimit", err)
}

// mayRaise reports whether this process has CAP_SYS_RESOURCE (capabilities(7)).
func mayRaise() bool {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if set, ok := strings.CutPrefix(line, "CapEff:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
			return err == nil && n&(1<<unix.CAP_SYS_RESOURCE) != 0
		}
	}
	return false
}
