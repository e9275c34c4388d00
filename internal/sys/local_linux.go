package sys

import "golang.org/x/sys/unix"

// SeesLocks reports whether this kernel sees all flock(2) locks in d: only one
// kernel at a time can have the file system mounted. It returns false where it
// cannot know.
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

// Device returns the number of the file system of d.
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

// IsLocal reports whether only one kernel at a time can have the file system of d
// mounted. It returns false where it cannot know.
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
