//go:build !linux

package loopfs

import (
	"errors"
	"os"
)

// Mount is not offered here.
func Mount(source, target, fstype, options string) error {
	return &os.PathError{Op: "mount " + fstype, Path: target, Err: errors.ErrUnsupported}
}

// Unmount is not offered here.
func Unmount(target string) error {
	return &os.PathError{Op: "umount", Path: target, Err: errors.ErrUnsupported}
}
