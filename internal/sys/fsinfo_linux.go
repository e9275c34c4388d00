package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// StatFS returns the kind, size and free space of the file system of path.
func StatFS(path string) (FSInfo, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(path, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return FSInfo{}, &os.PathError{Op: "statfs", Path: path, Err: err}
		}
		// statfs(2) counts in f_frsize where it is set, else in f_bsize.
		unit := uint64(st.Frsize)
		if unit == 0 {
			unit = uint64(st.Bsize)
		}
		return FSInfo{
			Magic:  uint32(st.Type),
			Free:   int64(st.Bavail * unit),
			Total:  int64(st.Blocks * unit),
			Inodes: int64(st.Files), FreeInodes: int64(st.Ffree),
		}, nil
	}
}

// FSName returns the name of the file system with a magic number, and "" for an
// unknown one. ext2, ext3 and ext4 share one number.
func FSName(magic uint32) string {
	switch magic {
	case unix.EXT4_SUPER_MAGIC:
		return "ext2/ext3/ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.F2FS_SUPER_MAGIC:
		return "f2fs"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.RAMFS_MAGIC:
		return "ramfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay"
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return "cifs"
	case unix.CEPH_SUPER_MAGIC:
		return "ceph"
	case unix.V9FS_MAGIC:
		return "9p"
	case unix.FUSE_SUPER_MAGIC:
		return "fuse"
	case unix.BCACHEFS_SUPER_MAGIC:
		return "bcachefs"
	case 0x2fc12fc1: // OpenZFS, not in the kernel's list
		return "zfs"
	}
	return ""
}

// StatPath reports on the file path.
func StatPath(path string) (Statx, error) { return statxFile(unix.AT_FDCWD, path, 0, path) }

// StatFile reports on the open file f.
func StatFile(f *os.File) (st Statx, err error) {
	err = WithFD(f, func(fd int) (err error) {
		st, err = statxFile(fd, "", unix.AT_EMPTY_PATH, f.Name())
		return err
	})
	return st, err
}

func statxFile(dirfd int, path string, flags int, name string) (Statx, error) {
	// A kernel that does not know a mask bit leaves it out of stx_mask.
	const mask = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID | unix.STATX_DIOALIGN | unix.STATX_WRITE_ATOMIC
	var s unix.Statx_t
	for {
		err := unix.Statx(dirfd, path, flags, mask, &s)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Statx{}, &os.PathError{Op: "statx", Path: name, Err: err}
		}
		break
	}
	st := Statx{
		Dev:          fmt.Sprintf("%d:%d", s.Dev_major, s.Dev_minor),
		Rdev:         fmt.Sprintf("%d:%d", s.Rdev_major, s.Rdev_minor),
		DirectKnown:  s.Mask&unix.STATX_DIOALIGN != 0,
		DirectMem:    int(s.Dio_mem_align),
		DirectOffset: int(s.Dio_offset_align),
		AtomicKnown:  s.Mask&unix.STATX_WRITE_ATOMIC != 0,
		AtomicMin:    int64(s.Atomic_write_unit_min),
		AtomicMax:    int64(s.Atomic_write_unit_max),
	}
	if s.Mask&unix.STATX_MNT_ID != 0 {
		st.MountID = s.Mnt_id
	}
	return st, nil
}
