package sys

import "golang.org/x/sys/unix"

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

// Symlink makes the symlink name, which must not be there, with the target.
func (d Dir) Symlink(target, name string) error {
	return Retry(func() error { return unix.Symlinkat(target, d.fd(), name) })
}
