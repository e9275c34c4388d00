package lab

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// openSyncs looks at the open files of this process, at the end of a timed part. It
// returns how many of them sync each write (O_DSYNC, a bit of O_SYNC too). known is false
// where others may sync for this process, unseen: an io_uring, a socket to a server, a
// child process.
func openSyncs() (n int64, known bool) {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0, false
	}
	for _, fd := range fds {
		target, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err != nil {
			continue // the directory itself
		}
		if strings.HasPrefix(target, "socket:") || strings.Contains(target, "io_uring") {
			return 0, false
		}
		info, err := os.ReadFile("/proc/self/fdinfo/" + fd.Name())
		if err != nil {
			continue
		}
		if flags, ok := fdFlags(string(info)); ok && flags&syscall.O_SYNC != 0 && flags&(syscall.O_WRONLY|syscall.O_RDWR) != 0 {
			n++
		}
	}
	children, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return 0, false
	}
	for _, c := range children {
		if list, err := os.ReadFile(c); err == nil && len(list) > 0 {
			return 0, false
		}
	}
	return n, true
}

// fdFlags reads the line "flags:	0100002" of /proc/PID/fdinfo/FD, in octal.
func fdFlags(info string) (flags int, ok bool) {
	for line := range strings.Lines(info) {
		if v, found := strings.CutPrefix(line, "flags:"); found {
			n, err := strconv.ParseInt(strings.TrimSpace(v), 8, 64)
			return int(n), err == nil
		}
	}
	return 0, false
}

// hidden are calls after which a sync may be one that is not counted: by a request in
// memory, or by another process.
var hidden = []string{"io_uring_enter", "io_submit", "openat2", "execve", "wait4", "waitid", "connect", "sendto", "sendmsg"}

// syncRequests returns how often the timed part asked for a sync by a flag, or had a file
// open that syncs each write. It returns nil where that cannot be known.
func (m meter) syncRequests(made map[string]int64) *int64 {
	if m.meterState == nil || !m.ended || made == nil || !m.syncsKnown {
		return nil
	}
	for _, name := range hidden {
		if made[name] > 0 {
			return nil
		}
	}
	n := m.openSyncs
	switch {
	case m.counters.flags != nil:
		n += int64(m.after.counters.flags - m.before.counters.flags)
	case made["open"]+made["openat"]+made["pwritev2"] > 0:
		return nil // their flags were not seen
	}
	return &n
}
