package sys

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// Identity identifies t.
func (t Temp) Identity() (Identity, error) {
	var st unix.Stat_t
	err := Retry(func() error { return unix.Fstat(t.fd(), &st) })
	return identity(&st), err
}

// Identity identifies the file name, without following a symlink.
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
