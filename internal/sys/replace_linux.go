package sys

import (
	"io"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Temp is a file that is written before it gets its name. Its methods
// return bare errors. It has none of the runtime poller's calls. The
// zero Temp is no file: see Dir.
type Temp struct{ ref int } // the descriptor plus one

func newTemp(fd int) Temp { return Temp{fd + 1} }

func (t Temp) fd() int { return t.ref - 1 }

// FileInfo is what is kept of a file when another takes its name.
type FileInfo struct {
	Mode     fs.FileMode // type, permissions, setuid, setgid and sticky bits
	UID, GID int
	dev, ino uint64 // so that == tells files apart
}

// Same reports whether both are of one file.
func (fi FileInfo) Same(other FileInfo) bool { return fi.dev == other.dev && fi.ino == other.ino }

// CreateTemp makes the file name, which must not be there, for writing and reading.
func (d Dir) CreateTemp(name string, perm fs.FileMode) (Temp, error) {
	var buf [pathBuf]byte
	p, err := dirPath(&buf, name)
	if err != nil {
		return Temp{}, err
	}
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC
	for {
		fd, _, e := syscall.Syscall6(unix.SYS_OPENAT, uintptr(d.fd()), uintptr(unsafe.Pointer(p)), flags, modeBits(perm), 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return Temp{}, e
		}
		return newTemp(int(fd)), nil
	}
}

// maxWrite is what one write(2) takes at most, less than the kernel's
// MAX_RW_COUNT of 2 GiB minus a page.
const maxWrite = 1 << 30

// Write writes all of b at the file's offset, or tells how much of it and why
// not more. The kernel writes less than it is told where it runs out of space
// (write(2)); the next call then gives the reason.
func (t Temp) Write(b []byte) (n int, err error) {
	for n < len(b) {
		m, err := unix.Write(t.fd(), b[n:min(len(b), n+maxWrite)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, err
		case m <= 0:
			return n, io.ErrUnexpectedEOF
		default:
			n += m
		}
	}
	return n, nil
}

// CopyFrom appends up to n bytes that src reads from its offset on, inside the
// kernel (copy_file_range(2)): XFS and btrfs share the extents where they can.
// It stops at the end of src, and where there is no more to be had in this
// way, and tells how many bytes it was: read on from there to learn which.
func (t Temp) CopyFrom(src syscall.RawConn, n int64) (copied int64) {
	src.Control(func(fd uintptr) {
		for copied < n {
			m, err := unix.CopyFileRange(int(fd), nil, t.fd(), nil, int(min(n-copied, maxWrite)), 0)
			switch {
			case err == unix.EINTR:
			case err != nil || m <= 0:
				return
			default:
				copied += int64(m)
			}
		}
	})
	return copied
}

// Sync makes the file's content durable, with the metadata that is needed to
// read it (fdatasync(2)).
func (t Temp) Sync() error {
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall(unix.SYS_FDATASYNC, uintptr(t.fd()), 0, 0)
		return e
	})
}

// StartWriteback has the kernel begin to write the file out, and does not
// wait (sync_file_range(2)). It is a hint, and tells no error.
func (t Temp) StartWriteback() { unix.SyncFileRange(t.fd(), 0, 0, unix.SYNC_FILE_RANGE_WRITE) }

// Writeback writes the file's data out and waits until the device has
// answered, and tells what went wrong. It makes nothing durable.
func (t Temp) Writeback() error {
	// All three flags: only then is no page passed over that is busy
	// (WB_SYNC_ALL in ksys_sync_file_range).
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	return Retry(func() error { return unix.SyncFileRange(t.fd(), 0, 0, all) })
}

// Chmod sets the permissions, setuid, setgid and sticky bits.
func (t Temp) Chmod(mode fs.FileMode) error {
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall(unix.SYS_FCHMOD, uintptr(t.fd()), modeBits(mode), 0)
		return e
	})
}

// Chown sets the owner, and clears setuid and setgid bits.
func (t Temp) Chown(uid, gid int) error {
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall(unix.SYS_FCHOWN, uintptr(t.fd()), uintptr(uid), uintptr(gid))
		return e
	})
}

// Info tells the owner and mode of the file itself.
func (t Temp) Info() (FileInfo, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstat(t.fd(), &st)
		if err == unix.EINTR {
			continue
		}
		return fileInfo(&st), err
	}
}

// Close closes the descriptor, once, whatever close(2) answers; see
// Dir.Close. Where it is EIO or ENOSPC, what was written may be lost.
func (t Temp) Close() error { return Dir(t).Close() }

// Info tells about name, and does not follow it if it is a symlink.
func (d Dir) Info(name string) (FileInfo, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		return fileInfo(&st), err
	}
}

// InfoOf tells about the open file f.
func InfoOf(f *os.File) (fi FileInfo, err error) {
	err = WithFD(f, func(fd int) error {
		fi, err = newTemp(fd).Info()
		return err
	})
	return fi, err
}

func fileInfo(st *unix.Stat_t) FileInfo {
	fi := FileInfo{Mode: fs.FileMode(st.Mode & 0o777), UID: int(st.Uid), GID: int(st.Gid), dev: uint64(st.Dev), ino: st.Ino}
	if st.Mode&unix.S_ISUID != 0 {
		fi.Mode |= fs.ModeSetuid
	}
	if st.Mode&unix.S_ISGID != 0 {
		fi.Mode |= fs.ModeSetgid
	}
	if st.Mode&unix.S_ISVTX != 0 {
		fi.Mode |= fs.ModeSticky
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		fi.Mode |= fs.ModeDir
	case unix.S_IFLNK:
		fi.Mode |= fs.ModeSymlink
	default:
		fi.Mode |= fs.ModeIrregular
	}
	return fi
}

// Readlink returns what the symlink name holds, or d itself if name is "" and
// d is an open symlink.
func (d Dir) Readlink(name string) (string, error) {
	for size := 256; ; size *= 2 {
		b := make([]byte, size)
		n, err := unix.Readlinkat(d.fd(), name, b)
		switch {
		case err == unix.EINTR:
			size /= 2
		case err != nil:
			return "", err
		case n < size:
			return string(b[:n]), nil
		}
	}
}

// mayNotFollow is ST_NOSYMFOLLOW of statfs(2): mounted with nosymfollow.
const mayNotFollow = 0x2000

// FollowLink returns what the symlink name, a single name in d, holds, for one
// who follows it himself. It is EINVAL if name is no symlink; and EACCES where
// fs.protected_symlinks (proc_sys_fs(5)) is to have the kernel refuse it,
// whether that is set or not: in a sticky folder that everybody may write to,
// unless the symlink is the caller's (its fsuid) or the folder's owner's. On a
// mount with nosymfollow it is ELOOP.
//
// All that is asked of one inode: by its name somebody might show another file
// each time.
func (d Dir) FollowLink(name string) (target string, err error) {
	link, err := openat(d.fd(), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return "", err
	}
	defer link.Close()
	var st, in unix.Stat_t
	if err := Retry(func() error { return unix.Fstat(link.fd(), &st) }); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", unix.EINVAL
	}
	if err := Retry(func() error { return unix.Fstatat(d.fd(), "", &in, unix.AT_EMPTY_PATH) }); err != nil {
		return "", err
	}
	const public = unix.S_ISVTX | unix.S_IWOTH
	if in.Mode&public == public && st.Uid != in.Uid && st.Uid != fsuid() {
		return "", unix.EACCES // may_follow_link in fs/namei.c
	}
	var mount unix.Statfs_t
	if err := Retry(func() error { return unix.Fstatfs(link.fd(), &mount) }); err != nil {
		return "", err
	}
	if mount.Flags&mayNotFollow != 0 {
		return "", unix.ELOOP
	}
	return link.Readlink("")
}

// fsuid is whom the kernel takes the calling thread for.
func fsuid() uint32 {
	id, err := unix.SetfsuidRetUid(-1) // no user has it, so nothing is set
	if err != nil {
		id = unix.Geteuid()
	}
	return uint32(id)
}

// Exchange has the files a, in d, and b, in other, change names at once.
func (d Dir) Exchange(a string, other Dir, b string) error {
	return Retry(func() error { return unix.Renameat2(d.fd(), a, other.fd(), b, unix.RENAME_EXCHANGE) })
}

// SyncFS writes out the whole file system that d is on (syncfs(2)). It tells
// of errors since d was opened (Linux 5.8).
func (d Dir) SyncFS() error {
	return Retry(func() error { return unix.Syncfs(d.fd()) })
}

// Device is the number of the file system that d is on.
func (d Dir) Device() (uint64, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstat(d.fd(), &st)
		if err == unix.EINTR {
			continue
		}
		return st.Dev, err
	}
}

// IsLocal reports whether d is on a file system that one kernel at a time can
// have mounted. What it does not know, it denies.
func (d Dir) IsLocal() bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd(), &st); err != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.BCACHEFS_SUPER_MAGIC:
		return true
	}
	return false
}
