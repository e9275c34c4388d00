package sys

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Process is identified by its number, its start time, the boot, and the PID
// namespace of the number.
type Process struct {
	PID       int
	Start     uint64 // clock ticks since boot
	Namespace uint64 // of its PID and its clock: two inodes of /proc/PID/ns
	Boot      string // 32 hex digits
}

// ThisProcess identifies this process. It fails where /proc is missing or is that of
// another PID namespace.
func ThisProcess() (Process, error) {
	p := Process{PID: os.Getpid()}
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return Process{}, err
	}
	if self != strconv.Itoa(p.PID) {
		return Process{}, fmt.Errorf("/proc calls process %d %s", p.PID, self)
	}
	if p.Start, err = processStart("self"); err != nil {
		return Process{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Process{}, err
	}
	p.Boot = strings.ReplaceAll(strings.TrimSpace(string(boot)), "-", "")
	fi, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		return Process{}, err
	}
	p.Namespace = fi.Sys().(*syscall.Stat_t).Ino << 32
	// A time namespace (Linux 5.6) shifts the start times that it reads.
	if fi, err := os.Stat("/proc/self/ns/time"); err == nil {
		p.Namespace |= fi.Sys().(*syscall.Stat_t).Ino & 0xffffffff
	}
	return p, nil
}

// StartOf returns when the process pid started, in clock ticks since boot. The error
// is os.ErrNotExist only if there is no such process, or only its exit code is left.
// With the mount option hidepid, /proc denies the processes of other users.
func StartOf(pid int) (uint64, error) {
	if err := syscall.Kill(pid, 0); err == syscall.ESRCH {
		return 0, os.ErrNotExist
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil && hasEnded(string(stat)) {
		return 0, os.ErrNotExist
	}
	start := uint64(0)
	if err == nil {
		start, err = parseStart(string(stat))
	}
	if err != nil {
		return 0, fmt.Errorf("process %d lives, and /proc does not tell since when: %v", pid, err)
	}
	return start, nil
}

func processStart(pid string) (uint64, error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, err
	}
	return parseStart(string(stat))
}

// hasEnded reports from /proc/PID/stat whether a process has released all its
// resources and only waits for its parent (proc_pid_stat(5), field 3). That is the
// state of the first thread, which programs in Go do not end before the others.
func hasEnded(stat string) bool {
	state := strings.TrimSpace(stat[strings.LastIndexByte(stat, ')')+1:])
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}

// parseStart reads field 22 of /proc/PID/stat (proc_pid_stat(5)). Field 2, the
// program's name in parentheses, may itself hold spaces and parentheses.
func parseStart(stat string) (uint64, error) {
	i := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[i+1:])
	const start = 22 - 3 // fields begins with field 3
	if i < 0 || len(fields) <= start {
		return 0, fmt.Errorf("cannot read /proc/PID/stat: %q", stat)
	}
	return strconv.ParseUint(fields[start], 10, 64)
}

// Uptime returns how long ago the kernel booted, suspend included.
func Uptime() (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return time.Duration(ts.Nano()), os.NewSyscallError("clock_gettime", err)
}
