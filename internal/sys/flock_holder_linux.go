package sys

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// FlockHolder returns the process that holds the flock(2) lock of the open file f,
// and its name; 0 and "" if this process may not know them. A process that has
// exited may have left its lock to a child.
//
// proc_locks(5) names a file by the device of its file system and its inode. On
// btrfs and overlayfs stat(2) returns another device or inode: there FlockHolder
// looks at the descriptors of the processes that hold a lock. It makes no call that
// a file system has to answer, as that of another user may never do so.
func FlockHolder(f *os.File) (pid int, command string) {
	want, err := theFile(f)
	if err != nil {
		return 0, ""
	}
	// The kernel lists locks a page at a time: one may be missing once, when
	// another was dropped meanwhile.
	for range 3 {
		if pid = want.holder(); pid != 0 {
			return pid, commandOf(pid)
		}
	}
	return 0, ""
}

// A lockedFile is how descriptors of a file are recognised.
type lockedFile struct {
	base  string // it was opened by
	inode string // a line of proc_pid_fdinfo(5), "" before Linux 5.14
	id    fileID
}

// A fileID is how stat(2) identifies a file.
type fileID struct {
	major, minor uint32
	inode        uint64
}

func theFile(f *os.File) (want lockedFile, err error) {
	want.base = filepath.Base(f.Name())
	err = WithFD(f, func(fd int) (err error) {
		n := strconv.Itoa(fd)
		info, _ := fdInfo("self", n)
		want.inode = inodeLine(info)
		want.id, err = cachedID(filepath.Join("/proc/self/fd", n))
		return err
	})
	return want, err
}

// cachedID returns the identity of the file path from this kernel's cache,
// without asking the file system's server.
func cachedID(path string) (fileID, error) {
	var st unix.Statx_t
	err := Retry(func() error { return unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &st) })
	return fileID{st.Dev_major, st.Dev_minor, st.Ino}, err
}

// fdInfoMost bounds the bytes read about a descriptor. Its flock(2) comes before the
// locks of fcntl(2), of which there may be any number.
const fdInfoMost = 4 << 10

func fdInfo(pid, fd string) (string, error) {
	f, err := os.Open(filepath.Join("/proc", pid, "fdinfo", fd))
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, fdInfoMost))
	return string(b), err
}

// inodeLine returns the line with the inode number that the file system itself uses.
func inodeLine(info string) string {
	for line := range strings.Lines(info) {
		if strings.HasPrefix(line, "ino:") {
			return line
		}
	}
	return ""
}

func (want lockedFile) holder() (pid int) {
	exact := fmt.Sprintf("%02x:%02x:%d", want.id.major, want.id.minor, want.id.inode)
	var others []int
	for _, l := range flocks() {
		if l.file == exact {
			return l.pid
		}
		if !slices.Contains(others, l.pid) { // one process may have thousands of locks
			others = append(others, l.pid)
		}
	}
	left := flockMost
	for _, pid := range others {
		if want.lockedBy(pid, &left) {
			return pid
		}
	}
	return 0
}

type flock struct {
	pid  int
	file string // device and inode
}

// flockMost bounds the locks, and the descriptors of all processes, that FlockHolder
// looks at: the result only adds to an error message, which cannot wait for it.
const flockMost = 10_000

// flocks returns the exclusive and shared locks of the processes that are visible
// here.
func flocks() (list []flock) {
	f, err := os.Open("/proc/locks")
	if err != nil {
		return nil
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 0; n < flockMost && lines.Scan(); n++ {
		// 1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF; a waiter has "->" second.
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

// lockedBy reports whether a process has a lock of the file. It looks at *left
// descriptors at most, and subtracts those that it looked at.
func (want lockedFile) lockedBy(pid int, left *int) bool {
	if *left <= 0 {
		return false
	}
	process := strconv.Itoa(pid)
	dir := filepath.Join("/proc", process, "fd")
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(*left)
	*left -= len(names)
	for _, name := range names {
		to, err := os.Readlink(filepath.Join(dir, name))
		if err != nil || filepath.Base(strings.TrimSuffix(to, " (deleted)")) != want.base {
			continue
		}
		info, err := fdInfo(process, name)
		if err != nil || !strings.Contains(info, "FLOCK") || inodeLine(info) != want.inode {
			continue
		}
		if id, err := cachedID(filepath.Join(dir, name)); err == nil && id == want.id {
			return true
		}
	}
	return false
}

// commandOf returns the name of a process.
func commandOf(pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
