package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// A Layout describes how a file system can move the content of a file.
type Layout struct {
	Magic uint32 // of the file system
	Block int64  // its unit of allocation, in bytes
}

// LayoutOf returns the layout of the file system of f.
func LayoutOf(f *os.File) (Layout, error) {
	var st unix.Statfs_t
	err := WithFD(f, func(fd int) error { return unix.Fstatfs(fd, &st) })
	return Layout{Magic: uint32(st.Type), Block: int64(st.Bsize)}, err
}

// Shifts reports whether the file system shifts extents without copying
// (FALLOC_FL_INSERT_RANGE, FALLOC_FL_COLLAPSE_RANGE). f2fs has the calls, and
// copies.
func (l Layout) Shifts() bool {
	return l.Magic == unix.EXT4_SUPER_MAGIC || l.Magic == unix.XFS_SUPER_MAGIC
}

// FastAllocation reports whether fallocate(2) before a write makes the write
// cheaper. On ext4 and XFS it does: one extent is looked up, where each folio would
// reserve its blocks. btrfs gains nothing and would no longer compress.
func (l Layout) FastAllocation() bool {
	return l.Magic == unix.EXT4_SUPER_MAGIC || l.Magic == unix.XFS_SUPER_MAGIC
}

// NoSharing reports whether files are known to share no blocks here.
func (l Layout) NoSharing() bool {
	return l.Magic == unix.EXT4_SUPER_MAGIC || l.Magic == unix.TMPFS_MAGIC || l.Magic == unix.F2FS_SUPER_MAGIC
}

// Remote reports whether the data is on another machine, which may copy it without
// sending it here and back.
func (l Layout) Remote() bool {
	return l.Magic == unix.NFS_SUPER_MAGIC || l.Magic == unix.SMB2_SUPER_MAGIC || l.Magic == unix.CIFS_SUPER_MAGIC || l.Magic == unix.CEPH_SUPER_MAGIC
}
