package sys

import (
	"io"
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

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

// ReadAt fills b from the offset off on, or tells why it is not full.
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

// WriteAt writes all of b at off, or tells how much of it and why not more.
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

// retryCount repeats a call that a signal interrupted. It returns 0 bytes
// with an error, not -1.
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

// Stat tells about the file, under the name name.
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

func (s *tempStat) Name() string       { return s.name }
func (s *tempStat) Size() int64        { return s.st.Size }
func (s *tempStat) ModTime() time.Time { return time.Unix(s.st.Mtim.Unix()) }
func (s *tempStat) IsDir() bool        { return false }
func (s *tempStat) Sys() any           { return &s.st }

func (s *tempStat) Mode() fs.FileMode {
	return fileInfo(&unix.Stat_t{Mode: s.st.Mode}).Mode
}

// Symlink makes the symlink name, which must not be there, with the target.
func (d Dir) Symlink(target, name string) error {
	return Retry(func() error { return unix.Symlinkat(target, d.fd(), name) })
}
