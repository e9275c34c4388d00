package sys

import (
	"io"
	"io/fs"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Temp is a file that is written before it gets its name. Its methods return bare
// errors and do without the runtime's poller. The zero Temp is no file: see Dir.
type Temp struct{ ref int } // the descriptor plus one

func newTemp(fd int) Temp { return Temp{fd + 1} }

func (t Temp) fd() int { return t.ref - 1 }

// CreateTemp makes the file name, which must not exist, and opens it for writing and
// reading.
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

// OpenTemp opens the file name to lock it: for writing too where that is allowed, as
// an exclusive lock needs it on NFS (flock(2), EBADF), otherwise for reading. It
// neither follows a symlink nor waits for the other end of a FIFO.
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

// Write writes all of b at the file's offset. It returns how much it wrote, and the
// error if that is less. Where space runs out the kernel writes less at first
// (write(2)); the next call returns the reason.
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

// CopyFrom appends up to n bytes of src, from its offset, in the kernel
// (copy_file_range(2)): XFS and btrfs share the extents where they can. It returns
// how many bytes it copied, and stops at the end of src or where the kernel copies
// no more: a read of src tells which.
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

// Sync makes the file's content durable, with the metadata needed to read it
// (fdatasync(2)).
func (t Temp) Sync() error {
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall(unix.SYS_FDATASYNC, uintptr(t.fd()), 0, 0)
		return e
	})
}

// StartWriteback makes the kernel start to write the file out, without waiting
// (sync_file_range(2)). It is a hint and returns no error.
func (t Temp) StartWriteback() { unix.SyncFileRange(t.fd(), 0, 0, unix.SYNC_FILE_RANGE_WRITE) }

// Writeback writes the file's data out, waits for the device and returns its error.
// It makes nothing durable.
func (t Temp) Writeback() error {
	// All three flags: only then is no page passed over that is busy
	// (WB_SYNC_ALL in ksys_sync_file_range).
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	return Retry(func() error { return unix.SyncFileRange(t.fd(), 0, 0, all) })
}

// Chmod sets the permissions and the setuid, setgid and sticky bits.
func (t Temp) Chmod(mode fs.FileMode) error {
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall(unix.SYS_FCHMOD, uintptr(t.fd()), modeBits(mode), 0)
		return e
	})
}

// Chown sets the owner and clears the setuid and setgid bits.
func (t Temp) Chown(uid, gid int) error {
	return dirCall(func() syscall.Errno {
		_, _, e := syscall.Syscall(unix.SYS_FCHOWN, uintptr(t.fd()), uintptr(uid), uintptr(gid))
		return e
	})
}

// Info describes the file.
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

// Close closes the descriptor, once, whatever close(2) returns; see Dir.Close. After
// EIO or ENOSPC, written data may be lost.
func (t Temp) Close() error { return Dir(t).Close() }

// Read reads at the file's offset.
func (t Temp) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := retryCount(func() (int, error) { return unix.Read(t.fd(), b[:min(len(b), maxWrite)]) })
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// ReadAt fills b from offset off. It returns how much it read, and the error if that
// is less.
func (t Temp) ReadAt(b []byte, off int64) (n int, err error) {
	for n < len(b) {
		m, err := retryCount(func() (int, error) { return unix.Pread(t.fd(), b[n:min(len(b), n+maxWrite)], off+int64(n)) })
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, io.EOF
		}
		n += m
	}
	return n, nil
}

// WriteAt writes all of b at off. It returns how much it wrote, and the error if
// that is less.
func (t Temp) WriteAt(b []byte, off int64) (n int, err error) {
	for n < len(b) {
		m, err := retryCount(func() (int, error) { return unix.Pwrite(t.fd(), b[n:min(len(b), n+maxWrite)], off+int64(n)) })
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, io.ErrUnexpectedEOF
		}
		n += m
	}
	return n, nil
}

// retryCount repeats a call after EINTR. With an error it returns 0 bytes, not -1.
func retryCount(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err == unix.EINTR {
			continue
		}
		return max(0, n), err
	}
}

// Seek sets the file's offset.
func (t Temp) Seek(off int64, whence int) (int64, error) {
	n, err := unix.Seek(t.fd(), off, whence)
	return max(0, n), err
}

// Truncate sets the file's size, in bytes.
func (t Temp) Truncate(size int64) error {
	return Retry(func() error { return unix.Ftruncate(t.fd(), size) })
}

// Stat describes the file, under the name name.
func (t Temp) Stat(name string) (fs.FileInfo, error) {
	s := &tempStat{name: name}
	if err := Retry(func() error { return syscall.Fstat(t.fd(), &s.st) }); err != nil {
		return nil, err
	}
	return s, nil
}

// A tempStat is the fs.FileInfo of a Temp.
type tempStat struct {
	name string
	st   syscall.Stat_t
}

func (s *tempStat) Name() string { return s.name }

func (s *tempStat) Size() int64 { return s.st.Size }

func (s *tempStat) ModTime() time.Time { return time.Unix(s.st.Mtim.Unix()) }

func (s *tempStat) IsDir() bool { return false }

func (s *tempStat) Sys() any { return &s.st }

func (s *tempStat) Mode() fs.FileMode {
	return fileInfo(&unix.Stat_t{Mode: s.st.Mode}).Mode
}

// TryLock takes flock(2)'s exclusive lock without waiting. It returns false if
// another open file has it. The lock ends with the last descriptor of this open
// file.
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

// SyscallConn returns access to the descriptor.
func (t Temp) SyscallConn() (syscall.RawConn, error) { return rawTemp(t.fd()), nil }

// rawTemp is a Temp as a syscall.RawConn. It is not polled.
type rawTemp int

func (r rawTemp) Control(f func(fd uintptr)) error {
	f(uintptr(r))
	return nil
}

func (r rawTemp) Read(f func(fd uintptr) bool) error { return syscall.EOPNOTSUPP }

func (r rawTemp) Write(f func(fd uintptr) bool) error { return syscall.EOPNOTSUPP }
