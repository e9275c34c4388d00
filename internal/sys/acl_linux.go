package sys

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// aclName is the attribute of a file's POSIX access ACL (acl(5)), in the form of
// linux/posix_acl_xattr.h.
const aclName = "system.posix_acl_access"

// ACL returns the access ACL of the file name, without following a symlink. It is
// nil for a file whose mode says everything; known is false where the file system
// has no ACLs. Where /proc is mounted ACL takes one call, no descriptor and no
// permission on the file. The error is ErrNFS4ACL for an NFSv4 ACL that a mode
// cannot express.
func (d Dir) ACL(name string) (acl []byte, known bool, err error) {
	const magic = "/proc/self/fd/"
	var (
		path [pathBuf]byte
		attr = [len(aclName) + 1]byte([]byte(aclName + "\x00"))
		buf  [512]byte
	)
	if len(magic)+len(name)+20 < len(path) {
		b := strconv.AppendInt(append(path[:0], magic...), int64(d.fd()), 10)
		path[len(b)] = '/'
		copy(path[len(b)+1:], name)
		n, _, e := syscall.Syscall6(unix.SYS_LGETXATTR, uintptr(unsafe.Pointer(&path)), uintptr(unsafe.Pointer(&attr)), uintptr(unsafe.Pointer(&buf)), uintptr(len(buf)), 0, 0)
		switch {
		case e == 0:
			return append([]byte(nil), buf[:n]...), true, nil
		case e == unix.ENODATA:
			return nil, true, nil
		case !indirect(e) && e != unix.EINTR && e != unix.ERANGE && e != unix.EOPNOTSUPP:
			return nil, false, e
		}
	}
	return d.aclSlowly(name)
}

// aclSlowly is ACL where one call is not enough.
func (d Dir) aclSlowly(name string) (acl []byte, known bool, err error) {
	_, get, done, err := d.attrs(name)
	defer done()
	return aclFrom(get, err)
}

// ACLOf returns the access ACL of the open file f, as ACL does.
func ACLOf(f *os.File) (acl []byte, known bool, err error) {
	err = WithFD(f, func(fd int) error {
		var attr = [len(aclName) + 1]byte([]byte(aclName + "\x00"))
		var buf [512]byte
		n, _, e := syscall.Syscall6(unix.SYS_FGETXATTR, uintptr(fd), uintptr(unsafe.Pointer(&attr)), uintptr(unsafe.Pointer(&buf)), uintptr(len(buf)), 0, 0)
		switch e {
		case 0:
			acl, known = append([]byte(nil), buf[:n]...), true
			return nil
		case unix.ENODATA:
			known = true
			return nil
		case unix.EINTR, unix.ERANGE, unix.EOPNOTSUPP:
		default:
			return e
		}
		acl, known, err = aclFrom(func(attr string) ([]byte, error) { return getXattr(fd, attr) }, nil)
		return err
	})
	return acl, known, err
}

// aclFrom returns the ACL that get reads, unless err is set.
func aclFrom(get func(attr string) ([]byte, error), err error) (acl []byte, known bool, _ error) {
	if err == nil {
		acl, err = get(aclName)
	}
	switch err {
	case nil:
		return acl, true, nil
	case unix.ENODATA:
		return nil, true, nil
	case unix.EOPNOTSUPP:
	default:
		return nil, false, err
	}
	if get == nil {
		return nil, false, nil
	}
	return nil, false, plainNFS4(get)
}

// plainNFS4 returns ErrNFS4ACL for a file with an NFSv4 ACL that a mode cannot
// express.
func plainNFS4(get func(attr string) ([]byte, error)) error {
	switch acl, err := get(nfs4Name); {
	case err == unix.ENODATA, err == unix.EOPNOTSUPP:
		return nil
	case err != nil:
		return fmt.Errorf("read NFSv4 ACL: %w", err)
	case namesSomebody(acl):
		return ErrNFS4ACL
	}
	return nil
}

// nfs4Name is the attribute in which an NFS client shows a file's NFSv4 ACL.
const nfs4Name = "system.nfs4_acl"

// ErrNFS4ACL is the error for a file with an NFSv4 ACL that cannot be carried over.
var ErrNFS4ACL = fmt.Errorf("an NFSv4 ACL with entries for users or groups cannot be kept: %w", unix.EOPNOTSUPP)

// namesSomebody reports whether an NFSv4 ACL has an entry for users or groups that a
// mode does not cover, or cannot be read. The ACL is big endian (RFC 7530, 6.2.1):
// the number of entries, and for each one type, flags and mask, 4 bytes each, the
// length of a name and the name, padded to 4 bytes.
func namesSomebody(acl []byte) bool {
	word := func() (n uint32, ok bool) {
		if len(acl) < 4 {
			return 0, false
		}
		n, acl = binary.BigEndian.Uint32(acl), acl[4:]
		return n, true
	}
	entries, ok := word()
	for ; ok && entries > 0; entries-- {
		var n uint32
		for range 4 {
			n, ok = word()
		}
		if full := (uint64(n) + 3) / 4 * 4; !ok || full > uint64(len(acl)) {
			return true
		}
		switch string(acl[:n]) {
		case "OWNER@", "GROUP@", "EVERYONE@":
		default:
			return true
		}
		acl = acl[(n+3)/4*4:]
	}
	return !ok
}

// HasACL reports whether t has an access ACL, inherited from the default ACL of its
// directory. The error is ErrNFS4ACL for an inherited NFSv4 ACL with entries for users
// or groups.
func (t Temp) HasACL() (bool, error) {
	var attr = [len(aclName) + 1]byte([]byte(aclName + "\x00"))
	for {
		_, _, e := syscall.Syscall6(unix.SYS_FGETXATTR, uintptr(t.fd()), uintptr(unsafe.Pointer(&attr)), 0, 0, 0, 0)
		switch e {
		case unix.EINTR:
		case 0:
			return true, nil
		case unix.ENODATA:
			return false, nil
		case unix.EOPNOTSUPP:
			return false, plainNFS4(func(attr string) ([]byte, error) { return getXattr(t.fd(), attr) })
		default:
			return false, e
		}
	}
}

// SetACL sets the access ACL of t, and with it the permissions. nil removes the ACL
// and keeps the permissions.
func (t Temp) SetACL(acl []byte) error {
	return Retry(func() error {
		if acl == nil {
			return unix.Fremovexattr(t.fd(), aclName)
		}
		return unix.Fsetxattr(t.fd(), aclName, acl, 0)
	})
}
