package sys

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// FlockHolder tells which process took the flock(2) lock of the file that f is
// open at, and its name, as far as this process may know: 0 and "" otherwise.
// A process that has ended may have left its lock to a child.
//
// proc_locks(5) names a file by the device of its file system and its inode. On
// btrfs and overlayfs stat(2) tells another device, or another inode: there
// the descriptors of the processes that hold a lock are looked at.
func FlockHolder(f *os.File) (pid int, command string) {
	fi, err := f.Stat()
	if err != nil {
		return 0, ""
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, ""
	}
	// The kernel lists locks a page at a time: one may be missing once, when
	// another was dropped meanwhile.
	for range 3 {
		if pid, command = flockHolder(f, fi, st); pid != 0 {
			break
		}
	}
	return pid, command
}

func flockHolder(f *os.File, fi os.FileInfo, st *syscall.Stat_t) (pid int, command string) {
	exact := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	var others []int
	for _, l := range flocks() {
		if l.file == exact {
			return l.pid, commandOf(l.pid)
		}
		if !slices.Contains(others, l.pid) { // one process may have thousands of locks
			others = append(others, l.pid)
		}
	}
	left := flockMost
	for _, pid := range others {
		if holds(pid, fi, filepath.Base(f.Name()), &left) {
			return pid, commandOf(pid)
		}
	}
	return 0, ""
}

type flock struct {
	pid  int
	file string // device and inode
}

// flockMost is how many locks, and how many descriptors of all processes, are
// looked at: it is only to say more in an error, whose caller waits no longer.
const flockMost = 10_000

// flocks lists the exclusive and shared locks that are held, of processes that
// can be seen from here.
func flocks() (list []flock) {
	f, err := os.Open("/proc/locks")
	if err != nil {
		return nil
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 0; n < flockMost && lines.Scan(); n++ {
		// 1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF; who waits has "->" second.
		w := strings.Fields(lines.Text())
		if len(w) < 6 || w[1] != "FLOCK" {
			continue
		}
		if pid, err := strconv.Atoi(w[4]); err == nil && pid > 0 {
			list = append(list, flock{pid, w[5]})
		}
	}
	return list
}

// holds reports whether a process has a lock of the file, which it opened by
// the name base: other files are not asked, as their file system may not
// answer. It looks at *left descriptors at most, and takes them off that.
func holds(pid int, file os.FileInfo, base string, left *int) bool {
	if *left <= 0 {
		return false
	}
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(*left)
	*left -= len(names)
	for _, name := range names {
		to, err := os.Readlink(filepath.Join(dir, name))
		if err != nil || filepath.Base(strings.TrimSuffix(to, " (deleted)")) != base {
			continue
		}
		info, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "fdinfo", name))
		if err != nil || !strings.Contains(string(info), "FLOCK") {
			continue
		}
		if fi, err := os.Stat(filepath.Join(dir, name)); err == nil && os.SameFile(fi, file) {
			return true
		}
	}
	return false
}

// commandOf is the name of a process.
func commandOf(pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
