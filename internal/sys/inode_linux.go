package sys

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Inode returns the inode number of the file that fi describes.
func Inode(fi os.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// OwnFile reports whether the file belongs to the user of this process.
func OwnFile(fi os.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// AllocatedBytes returns how many bytes a file takes on the disk.
func AllocatedBytes(fi os.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512 // stat(2): whatever the block size
	}
	return 0
}

// InodeOf returns the inode number of an open file.
func InodeOf(fd int) (uint64, error) {
	var st unix.Stat_t
	err := Retry(func() error { return unix.Fstat(fd, &st) })
	return st.Ino, err
}

// AccessTime returns when the file was last read; how precise that is depends on the
// mount options (relatime).
func AccessTime(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Atim.Unix())
	}
	return time.Time{}
}

// SetTimes sets the times of access and modification (futimens(3)). It leaves a time
// unchanged whose argument is zero.
func SetTimes(fd int, access, modification time.Time) error {
	var ts [2]unix.Timespec
	for i, t := range []time.Time{access, modification} {
		ts[i].Nsec = unix.UTIME_OMIT
		if !t.IsZero() {
			var err error
			if ts[i], err = unix.TimeToTimespec(t); err != nil {
				return err
			}
		}
	}
	return Retry(func() error { return unix.UtimesNanoAt(fd, "", ts[:], unix.AT_EMPTY_PATH) })
}
