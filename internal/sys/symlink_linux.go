package sys

import "golang.org/x/sys/unix"

// Readlink returns the target of the symlink name, or of d itself if name is "" and
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

// mayNotFollow is ST_NOSYMFOLLOW of statfs(2): the mount option nosymfollow.
const mayNotFollow = 0x2000

// FollowLink returns the target of the symlink name, a single name in d, for a
// caller that follows it itself. It fails with EINVAL if name is no symlink, with
// ELOOP on a mount with nosymfollow, and with EACCES where fs.protected_symlinks
// (proc_sys_fs(5)), set or not, refuses it: in a sticky directory that everyone may
// write to, unless the owner of the symlink is the caller (its fsuid) or the owner
// of the directory.
//
// All is read from one inode: the name could show another file each time.
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

// fsuid returns the user that the calling thread's file accesses are checked for.
func fsuid() uint32 {
	id, err := unix.SetfsuidRetUid(-1) // no user has it, so nothing is set
	if err != nil {
		id = unix.Geteuid()
	}
	return uint32(id)
}

// Symlink creates the symlink name to target. It fails with EEXIST if the name exists.
func (d Dir) Symlink(target, name string) error {
	return Retry(func() error { return unix.Symlinkat(target, d.fd(), name) })
}
