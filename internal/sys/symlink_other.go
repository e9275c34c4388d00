//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
)

// Readlink returns the target of the symlink name.
func (d Dir) Readlink(name string) (string, error) {
	readlink := os.Readlink
	if d.root != nil {
		readlink = d.root.Readlink
	}
	target, err := readlink(d.path(name))
	return target, bare(err)
}

// FollowLink returns the target of the symlink name, for a caller that follows it
// itself. It fails where the system does not let this process follow the symlink.
func (d Dir) FollowLink(name string) (string, error) {
	if _, err := d.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return d.Readlink(name)
}

// Symlink creates the symlink name to target. It fails if the name exists.
func (d Dir) Symlink(target, name string) error {
	if d.root != nil {
		return bareLink(d.root.Symlink(target, name))
	}
	return bareLink(os.Symlink(target, d.path(name)))
}
