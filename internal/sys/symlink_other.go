//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
)

// Readlink returns what the symlink name holds.
func (d Dir) Readlink(name string) (string, error) {
	readlink := os.Readlink
	if d.root != nil {
		readlink = d.root.Readlink
	}
	target, err := readlink(d.path(name))
	return target, bare(err)
}

// FollowLink returns what the symlink name holds, for one who follows it
// himself. Whether this process may, the system is asked first.
func (d Dir) FollowLink(name string) (string, error) {
	if _, err := d.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return d.Readlink(name)
}

// Symlink makes the symlink name, which must not be there, with the target.
func (d Dir) Symlink(target, name string) error {
	if d.root != nil {
		return bareLink(d.root.Symlink(target, name))
	}
	return bareLink(os.Symlink(target, d.path(name)))
}
