package loopfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// Mount mounts source, a file system of type fstype, on target, without set-uid
// programs and device files. It needs CAP_SYS_ADMIN.
func Mount(source, target, fstype, options string) error {
	for {
		err := unix.Mount(source, target, fstype, unix.MS_NOSUID|unix.MS_NODEV, options)
		switch err {
		case nil:
			return nil
		case unix.EINTR:
			continue
		}
		return &os.PathError{Op: "mount " + fstype, Path: target, Err: err}
	}
}

// Unmount unmounts target, without following a symlink. It fails with EBUSY while a
// file on it is open.
func Unmount(target string) error {
	for {
		err := unix.Unmount(target, unix.UMOUNT_NOFOLLOW)
		switch err {
		case nil:
			return nil
		case unix.EINTR:
			continue
		}
		return &os.PathError{Op: "umount", Path: target, Err: err}
	}
}
