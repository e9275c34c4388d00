package sys

import "golang.org/x/sys/unix"

// SeesLocks reports whether who else may write in d can take flock(2)'s locks
// only where this kernel sees them: one kernel at a time can have the file
// system mounted. What it does not know, it denies.
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
