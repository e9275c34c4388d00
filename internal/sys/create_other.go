//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
)

// CreateUse is what CreateFile does with an existing name.
type CreateUse int

const (
	// CreateNew fails with EEXIST.
	CreateNew = CreateUse(os.O_EXCL)
	// CreateEmpty truncates the file, and follows a symlink.
	CreateEmpty = CreateUse(os.O_TRUNC)
	// CreateOpen keeps the file as it is, and follows a symlink.
	CreateOpen = CreateUse(0)
)

// CreateFile creates the file path and opens it for reading and writing.
func (d Dir) CreateFile(path, _ string, perm fs.FileMode, use CreateUse) (*os.File, error) {
	return d.openFile(path, int(use)|os.O_CREATE|os.O_RDWR, perm)
}

// OpenUnnamed fails with errors.ErrUnsupported.
func (d Dir) OpenUnnamed(string, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

// TouchFile creates the empty file path.
func (d Dir) TouchFile(path string, perm fs.FileMode) error {
	f, err := d.CreateFile(path, "", perm, CreateNew)
	if err != nil {
		return err
	}
	return bare(f.Close())
}

func (d Dir) openFile(path string, flags int, perm fs.FileMode) (*os.File, error) {
	if d.root != nil {
		f, err := d.root.OpenFile(path, flags, perm.Perm()) // os.Root refuses other bits
		return f, bare(err)
	}
	f, err := openShared(d.join(path), flags, perm)
	return f, bare(err)
}

// path returns the path for functions of package os, or for methods of d.root.
func (d Dir) path(path string) string {
	if d.root != nil {
		return path
	}
	return d.join(path)
}

// Umask returns 0.
func Umask() (fs.FileMode, error) { return 0, nil }

// OpenTmpfile fails with errors.ErrUnsupported.
func OpenTmpfile(dir string) (*os.File, error) { return nil, errors.ErrUnsupported }
