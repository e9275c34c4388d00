package sys

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxAttr is XATTR_SIZE_MAX, the longest value of an extended attribute, and
// XATTR_LIST_MAX, the longest list of their names.
const maxAttr = 64 << 10

// GetAttr returns an extended attribute. The error is E2BIG for one longer than
// Linux allows, which a user's file system (FUSE) may claim to have.
func GetAttr(fd int, name string) ([]byte, error) {
	var most [512]byte
	buf := most[:] // not on the heap, as most files have none
	for {
		n, err := unix.Fgetxattr(fd, name, buf)
		switch {
		case err == unix.EINTR:
		case err == unix.ERANGE && len(buf) > maxAttr:
			return nil, unix.E2BIG
		case err == unix.ERANGE: // longer, or it has grown
			if n, err = unix.Fgetxattr(fd, name, nil); err != nil && err != unix.EINTR {
				return nil, err
			}
			if n > maxAttr {
				return nil, unix.E2BIG
			}
			// At least twice as long as before: it may have grown in between.
			buf = make([]byte, max(n+64, min(2*len(buf), maxAttr+1)))
		case err != nil:
			return nil, err
		default:
			return append([]byte(nil), buf[:n]...), nil
		}
	}
}

// SetAttr sets an extended attribute.
func SetAttr(fd int, name string, value []byte) error {
	return Retry(func() error { return unix.Fsetxattr(fd, name, value, 0) })
}

// RemoveXattr removes an extended attribute.
func RemoveXattr(f *os.File, name string) error {
	return WithFD(f, func(fd int) error { return unix.Fremovexattr(fd, name) })
}

// NoXattr reports whether err means that a file has no such extended attribute, or
// its file system none at all.
func NoXattr(err error) bool {
	return err == unix.ENODATA || err == unix.EOPNOTSUPP || err == unix.ENOSYS
}

// NoRoomForAttr reports whether err means that this attribute cannot be stored: the
// file system lacks such attributes, or space for one more.
func NoRoomForAttr(err error) bool {
	switch err {
	case unix.EOPNOTSUPP, unix.ENOSYS, unix.ENOSPC, unix.EDQUOT, unix.E2BIG, unix.EPERM, unix.EACCES:
		return true
	}
	return false
}

// attrs returns access to the attributes of the file name in d. It goes by a path
// where /proc is mounted, which takes no permission on the file and no descriptor,
// so that a batch that holds all the process may have can still be committed. The
// caller must call done, also after an error.
func (d Dir) attrs(name string) (names []string, get func(attr string) ([]byte, error), done func(), err error) {
	path := "/proc/self/fd/" + strconv.Itoa(d.fd()) + "/" + name
	done = func() {}
	names, err = list(func(b []byte) (int, error) { return unix.Llistxattr(path, b) })
	if !indirect(err) {
		get = func(attr string) ([]byte, error) {
			return sized(func(b []byte) (int, error) { return unix.Lgetxattr(path, attr, b) })
		}
		return names, get, done, err
	}
	// O_NONBLOCK: name may have become a FIFO.
	from, err := openat(d.fd(), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC)
	if err != nil {
		return nil, nil, done, err
	}
	names, err = listXattrs(from.fd())
	get = func(attr string) ([]byte, error) { return getXattr(from.fd(), attr) }
	return names, get, func() { from.Close() }, err
}

// indirect reports whether a path through /proc failed as it does without /proc. It
// may also be that the file does not exist.
func indirect(err error) bool {
	return err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES
}

// CopyXattrs gives t the extended attributes of the file name in d, except its ACL
// and those that hold for the old file only; see carried. It removes those from t
// that name does not have. Attributes user.* need write permission on t and read
// permission on name (xattr(7)).
func (d Dir) CopyXattrs(name string, t Temp) error {
	old, get, done, err := d.attrs(name)
	defer done()
	return t.takeXattrs(old, get, err)
}

// CopyXattrsOf is CopyXattrs from the open file f.
func CopyXattrsOf(f *os.File, t Temp) error {
	return WithFD(f, func(fd int) error {
		old, err := listXattrs(fd)
		return t.takeXattrs(old, func(attr string) ([]byte, error) { return getXattr(fd, attr) }, err)
	})
}

// takeXattrs gives t the attributes old, whose values get returns, unless err says
// that they are not known.
func (t Temp) takeXattrs(old []string, get func(attr string) ([]byte, error), err error) error {
	if err == unix.EOPNOTSUPP {
		return nil // then t can have none either
	}
	if err != nil {
		return err
	}
	present, err := listXattrs(t.fd())
	if err != nil {
		return err
	}
	for _, attr := range present {
		// Attributes that a security module set at creation stay.
		if !carried(attr) || slices.Contains(old, attr) || strings.HasPrefix(attr, "security.") {
			continue
		}
		if err := Retry(func() error { return unix.Fremovexattr(t.fd(), attr) }); err != nil {
			return err
		}
	}
	for _, attr := range old {
		if !carried(attr) {
			continue
		}
		want, err := get(attr)
		if err == unix.ENODATA {
			continue // removed, or trusted.*, which btrfs lists for users that may not read it
		}
		if err != nil {
			return err
		}
		// A security module may have set it already, and refuse to set it again.
		if got, err := getXattr(t.fd(), attr); err == nil && bytes.Equal(got, want) {
			continue
		}
		if err := Retry(func() error { return unix.Fsetxattr(t.fd(), attr, want, 0) }); err != nil {
			return err
		}
	}
	return nil
}

// notCarried are attributes that depend on a content or an inode. Those of system.*,
// which belong to the file system, are not carried either.
var notCarried = []string{
	"security.ima", "security.evm", // hashes of the content and of the inode
	"security.capability", // what the content was trusted with; a write removes it
	"trusted.SGI_",        // how XFS shows its ACLs to CAP_SYS_ADMIN (xfs_xattr.c)
	"trusted.overlay.",    // of a layer: where the rest of the file is (overlayfs.rst)
	"user.overlay.",       // the same, for mounts with userxattr
	"user.stele.",         // records of package header
}

// carried reports whether a new file takes over attr. btrfs.* are properties, such
// as compression.
func carried(attr string) bool {
	has := func(prefix string) bool { return strings.HasPrefix(attr, prefix) }
	return slices.ContainsFunc([]string{"user.", "trusted.", "security.", "btrfs."}, has) && !slices.ContainsFunc(notCarried, has)
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

// sized calls get with a buffer that is large enough for most attributes, and then
// with one of the size that the kernel reports (listxattr(2)), at least twice as
// large as before if the value grew meanwhile. The error is E2BIG for more than
// Linux allows, which a user's file system may claim.
func sized(get func([]byte) (int, error)) ([]byte, error) {
	b := make([]byte, 256)
	for {
		n, err := get(b)
		switch {
		case err == unix.EINTR:
		case err == unix.ERANGE && len(b) > maxAttr:
			return nil, unix.E2BIG
		case err == unix.ERANGE:
			if n, err = get(nil); err != nil && err != unix.EINTR {
				return nil, err
			}
			if n > maxAttr {
				return nil, unix.E2BIG
			}
			b = make([]byte, max(n, min(2*len(b), maxAttr+1)))
		case err != nil:
			return nil, err
		default:
			return b[:n], nil
		}
	}
}
