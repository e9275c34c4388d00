package sys

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OrdersData is Dir.OrdersData of the file system that f is on.
func OrdersData(f *os.File) (ordered bool) {
	err := WithFD(f, func(fd int) error {
		ordered = newDir(fd).OrdersData()
		return nil
	})
	return err == nil && ordered
}

// OrdersData reports whether files created in d are on a file system whose
// journal keeps this order: data that the device has acknowledged is durable
// no later than any change to a directory made after the acknowledgement.
// Then a rename, once durable, never names a file whose data is not. It returns
// false where it cannot know. d must be opened ForSync.
//
// ext4: where a file's blocks are is in the running transaction before
// writeback ends: since they were allocated, or, for blocks that are marked
// unwritten until then, since ext4_end_io_end. The rename comes into the same
// transaction or a later one, and transactions become durable in their order,
// each with a commit record that is written after a flush of the device
// (REQ_PREFLUSH in journal_submit_commit_record). An fsync of a directory
// commits the whole transaction (ext4_fsync_journal).
//
// XFS: the same with the log's items (xfs_end_ioend: unwritten extents, those
// of copy on write, and the file's size) and the flush that opens a checkpoint
// (xlog_cil_push_work).
//
// The result holds for the file system as it is mounted now, and for d's flags, which
// new files inherit.
func (d Dir) OrdersData() bool { return d.whyUnordered() == "" }

// whyUnordered returns why OrdersData is false, or "".
func (d Dir) whyUnordered() string {
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd(), &st); err != nil {
		return err.Error()
	}
	// An overlay or a FUSE file system has its own number, not that of the file
	// system below it.
	if st.Type != unix.EXT4_SUPER_MAGIC && st.Type != unix.XFS_SUPER_MAGIC {
		return "neither ext4 nor XFS"
	}
	// Before Linux 5.2 sync_file_range(2) did not ask for writeback that is
	// meant for integrity (WB_SYNC_ALL).
	if !kernelAtLeast(5, 2) {
		return "a Linux before 5.2"
	}
	if why := d.whyFlagsUnordered(); why != "" {
		return why
	}
	x, err := statxFile(d.fd(), "", unix.AT_EMPTY_PATH, "")
	if err != nil {
		return err.Error()
	}
	mounts, err := Mounts()
	if err != nil {
		return err.Error()
	}
	// Bind mounts of it have the same device, and all have one super block.
	i := slices.IndexFunc(mounts, func(m MountPoint) bool { return m.Dev == x.Dev })
	if i < 0 {
		return "not among the mounts of this mount namespace"
	}
	switch m := mounts[i]; m.FS {
	case "ext4":
		if o := findOption(m.Super, "data=writeback", "data=journal", "journal_async_commit", "nobarrier", "barrier=0", "dax"); o != "" {
			return "mounted with " + o
		}
		if !hasInnerJournal(m.Dev) {
			return "no journal on the same device"
		}
		return d.whyFastCommits(m.Dev)
	case "xfs":
		// A flush of the log's device does not reach data on another one.
		if o := findOption(m.Super, "rtdev=", "logdev=", "norecovery", "nobarrier", "dax"); o != "" {
			return "mounted with " + o
		}
		return ""
	default:
		return "mounted as " + m.FS // ext2, ext3
	}
}

// findOption returns the first of the mount options that begins with one of
// the prefixes, or "".
func findOption(options string, prefixes ...string) string {
	for o := range strings.SplitSeq(options, ",") {
		for _, p := range prefixes {
			if strings.HasPrefix(o, p) {
				return o
			}
		}
	}
	return ""
}

// hasInnerJournal reports whether the ext4 on the device "major:minor" has its
// journal on the same device: jbd2 names such a journal by device and inode, and one
// on a device of its own by the device alone (jbd2_journal_init_inode).
func hasInnerJournal(dev string) bool {
	found, err := filepath.Glob("/proc/fs/jbd2/" + blockDevice(dev) + "-[0-9]*")
	return err == nil && len(found) > 0
}

// blockDevice returns the kernel's name of the device "major:minor", or a name that
// no device has.
func blockDevice(dev string) string {
	link, err := os.Readlink("/sys/dev/block/" + dev)
	if err != nil {
		return "unknown"
	}
	return filepath.Base(link)
}

// Flags of linux/fs.h that x/sys does not have.
const (
	fsJournalDataFlag = 0x4000 // FS_JOURNAL_DATA_FL
	xflagRTInherit    = 0x100  // FS_XFLAG_RTINHERIT
	xflagDAX          = 0x8000 // FS_XFLAG_DAX
)

// whyFlagsUnordered returns which flag of d, inherited by new files, makes their
// data bypass the argument above, or "".
func (d Dir) whyFlagsUnordered() string {
	flags, err := unix.IoctlGetUint32(d.fd(), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return "flags of the directory: " + err.Error()
	}
	var x struct {
		Flags, ExtSize, Extents, Project, CowExtSize uint32
		_                                            [8]byte
	}
	if err := d.read(ioctlRead('X', 31, unsafe.Sizeof(x)), unsafe.Pointer(&x)); err != nil { // FS_IOC_FSGETXATTR
		return "flags of the directory: " + err.Error()
	}
	return whyInherited(flags, x.Flags)
}

func whyInherited(flags, xflags uint32) string {
	switch {
	case flags&fsJournalDataFlag != 0:
		return "data of files in the directory goes into the journal"
	case xflags&xflagRTInherit != 0:
		return "files in the directory are on the realtime device"
	case xflags&xflagDAX != 0:
		return "files in the directory bypass the page cache"
	}
	return ""
}

// whyFastCommits returns a reason if the ext4 on dev is known to use fast commits, a
// second form of its journal. Their last block is written after a flush too
// (ext4_fc_submit_bh), and an fsync of a directory is never a fast commit
// (since 6.4): so the order is kept even where fast commits cannot be detected. But
// patches have been proposed that omit that flush for a commit without data of its own.
func (d Dir) whyFastCommits(dev string) string {
	const why = "fast commits"
	// EXT4_IOC_GET_TUNE_SB_PARAM of Linux 6.18, whose second form is 4 bytes
	// longer; feature_compat is at 64.
	for _, size := range []uintptr{232, 228} {
		var params [232]byte
		if err := d.read(ioctlRead('f', 45, size), unsafe.Pointer(&params)); err != nil {
			continue
		}
		const fastCommit = 0x400 // EXT4_FEATURE_COMPAT_FAST_COMMIT
		if *(*uint32)(unsafe.Pointer(&params[64]))&fastCommit != 0 {
			return why
		}
		return ""
	}
	info, err := os.ReadFile("/proc/fs/ext4/" + blockDevice(dev) + "/fc_info")
	switch {
	case err != nil && kernelAtLeast(5, 10): // which has both
		return err.Error()
	case err == nil && !strings.Contains(string(info), "\n0 commits\n"):
		return why
	}
	return ""
}

// read calls an ioctl(2) that fills *p.
func (d Dir) read(request uintptr, p unsafe.Pointer) error {
	for {
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(d.fd()), request, uintptr(p))
		switch e {
		case 0:
			return nil
		case unix.EINTR:
			continue
		}
		return e
	}
}

// ioctlRead is the macro _IOR of linux/ioctl.h. The bits for reading differ between
// architectures.
func ioctlRead(kind, number byte, size uintptr) uintptr {
	const reads = unix.FS_IOC_GETFLAGS &^ (1<<29 - 1)
	return reads | size<<16 | uintptr(kind)<<8 | uintptr(number)
}

// kernelAtLeast reports whether this is Linux major.minor or a later one.
func kernelAtLeast(major, minor int) bool {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return false
	}
	return releaseAtLeast(unix.ByteSliceToString(u.Release[:]), major, minor)
}

func releaseAtLeast(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a > major || a == major && b >= minor
}
