package sys

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Identity tells which file t is.
func (t Temp) Identity() (Identity, error) {
	var st unix.Stat_t
	err := Retry(func() error { return unix.Fstat(t.fd(), &st) })
	return identity(&st), err
}

// Identity tells which file name is, and does not follow it if it is a
// symlink.
func (d Dir) Identity(name string) (Identity, error) {
	var st unix.Stat_t
	err := Retry(func() error { return unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return identity(&st), err
}

func identity(st *unix.Stat_t) Identity {
	id := Identity{Dev: uint64(st.Dev), Inode: st.Ino, Changed: time.Unix(st.Ctim.Unix())}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		id.Type = fs.ModeDir
	case unix.S_IFLNK:
		id.Type = fs.ModeSymlink
	default:
		id.Type = fs.ModeIrregular
	}
	return id
}

// OpenTemp opens the file name to lock it: for writing too, which an exclusive
// lock takes on NFS (flock(2), EBADF), where that is allowed, else for reading.
// It does not follow a symlink, and does not wait for the other end of a FIFO.
func (d Dir) OpenTemp(name string) (Temp, error) {
	const flags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_LARGEFILE
	fd, err := openFD(d.fd(), name, flags|unix.O_RDWR, 0)
	switch err {
	case unix.EACCES, unix.EPERM, unix.EROFS, unix.ETXTBSY, unix.EISDIR:
		fd, err = openFD(d.fd(), name, flags|unix.O_RDONLY, 0)
	}
	if err != nil {
		return Temp{}, err
	}
	return newTemp(fd), nil
}

// TryLock takes flock(2)'s exclusive lock without waiting. It reports false
// when somebody else holds it. The lock goes with the last descriptor of this
// open file.
func (t Temp) TryLock() (bool, error) {
	err := Retry(func() error { return unix.Flock(t.fd(), unix.LOCK_EX|unix.LOCK_NB) })
	switch err {
	case nil:
		return true, nil
	case unix.EWOULDBLOCK:
		return false, nil
	}
	return false, err
}

// Flush returns the write errors that the file system reports when a descriptor
// is closed (NFS, CIFS, FUSE; close(2)). It closes a duplicate of t, so that t
// and its lock stay.
func (t Temp) Flush() error {
	var fd int
	err := Retry(func() (err error) {
		fd, err = unix.FcntlInt(uintptr(t.fd()), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return err
	}
	return newTemp(fd).Close()
}

// CloseBeforeRename: an open file can be renamed.
const CloseBeforeRename = false

// Uptime is how long ago this kernel has booted, asleep or not.
func Uptime() (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return time.Duration(ts.Nano()), os.NewSyscallError("clock_gettime", err)
}

// SeesLocks reports whether who else may write in d can take flock(2)'s locks
// only where this kernel sees them: one kernel at a time can have the file
// system mounted. What it does not know, it denies.
func (d Dir) SeesLocks() bool {
	var st unix.Statfs_t
	if err := Retry(func() error { return unix.Fstatfs(d.fd(), &st) }); err != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.OVERLAYFS_SUPER_MAGIC, unix.RAMFS_MAGIC:
		return true
	}
	return d.IsLocal()
}
