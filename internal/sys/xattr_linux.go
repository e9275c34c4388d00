package sys

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// aclName is where the kernel keeps a file's POSIX access ACL (acl(5)).
const aclName = "system.posix_acl_access"

// Xattrs says which extended attributes CopyXattrs is to copy.
type Xattrs struct {
	ACL   bool // the access ACL
	Other bool // all but the ACL, and but the signatures of the old content
}

// CopyXattrs gives t the extended attributes of the file name in d, and takes
// from t those that name does not have. It needs read permission on name, and
// where /proc is mounted no descriptor: a batch that holds all the process may
// have can still be committed.
func (d Dir) CopyXattrs(name string, t Temp, which Xattrs) error {
	path := "/proc/self/fd/" + strconv.Itoa(d.fd) + "/" + name
	get := func(attr string) ([]byte, error) {
		return sized(func(b []byte) (int, error) { return unix.Lgetxattr(path, attr, b) })
	}
	old, err := list(func(b []byte) (int, error) { return unix.Llistxattr(path, b) })
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES {
		// No /proc, or no file. O_NONBLOCK: name may have become a FIFO.
		var from Dir
		if from, err = openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
			return err
		}
		defer from.Close()
		get = func(attr string) ([]byte, error) { return getXattr(from.fd, attr) }
		old, err = listXattrs(from.fd)
	}
	if err != nil {
		if err == unix.EOPNOTSUPP {
			return nil // then t can have none either
		}
		return err
	}
	present, err := listXattrs(t.fd)
	if err != nil {
		return err
	}
	for _, attr := range old {
		if !which.has(attr) {
			continue
		}
		want, err := get(attr)
		if err != nil {
			return err
		}
		// A security module may have set it already, and not let us set it.
		if got, err := getXattr(t.fd, attr); err == nil && bytes.Equal(got, want) {
			continue
		}
		if err := retryErrno(func() error { return unix.Fsetxattr(t.fd, attr, want, 0) }); err != nil {
			return err
		}
	}
	for _, attr := range present {
		if !which.has(attr) || slices.Contains(old, attr) {
			continue
		}
		if err := retryErrno(func() error { return unix.Fremovexattr(t.fd, attr) }); err != nil {
			return err
		}
	}
	return nil
}

func (x Xattrs) has(attr string) bool {
	switch attr {
	case aclName:
		return x.ACL
	case "security.ima", "security.evm": // hashes of the content and of the inode
		return false
	}
	// Other names of system.* are the file system's own, and what package
	// header notes of a file holds for that inode and content.
	return x.Other && !strings.HasPrefix(attr, "system.") && !strings.HasPrefix(attr, "user.stele.")
}

func listXattrs(fd int) ([]string, error) {
	return list(func(b []byte) (int, error) { return unix.Flistxattr(fd, b) })
}

func list(call func([]byte) (int, error)) ([]string, error) {
	b, err := sized(call)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00"), nil
}

func getXattr(fd int, name string) ([]byte, error) {
	return sized(func(b []byte) (int, error) { return unix.Fgetxattr(fd, name, b) })
}

// sized calls get with a buffer that is large enough for most attributes, and
// where it is not, with one of the size that the kernel then tells
// (listxattr(2)); again if it grew meanwhile.
func sized(get func([]byte) (int, error)) ([]byte, error) {
	b := make([]byte, 256)
	for {
		n, err := get(b)
		switch {
		case err == unix.EINTR:
		case err == unix.ERANGE:
			b = nil
		case err != nil:
			return nil, err
		case len(b) == 0 && n > 0:
			b = make([]byte, n)
		default:
			return b[:n], nil
		}
	}
}
