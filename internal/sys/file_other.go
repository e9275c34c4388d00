//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
)

// CreateUse says what CreateFile does with a name that is there already.
type CreateUse int

const (
	// CreateNew: refuse it.
	CreateNew = CreateUse(os.O_EXCL)
	// CreateEmpty: truncate the file. Symlinks are followed here.
	CreateEmpty = CreateUse(os.O_TRUNC)
	// CreateOpen: leave the file as it is. Symlinks are followed here.
	CreateOpen = CreateUse(0)
)

// CreateFile makes the file path and opens it for reading and writing.
func (d Dir) CreateFile(path, _ string, perm fs.FileMode, use CreateUse) (*os.File, error) {
	f, err := os.OpenFile(d.join(path), int(use)|os.O_CREATE|os.O_RDWR, perm)
	return f, bare(err)
}

// OpenUnnamed fails with errors.ErrUnsupported.
func (d Dir) OpenUnnamed(string, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

// TouchFile makes the empty file path.
func (d Dir) TouchFile(path string, perm fs.FileMode) error {
	f, err := d.CreateFile(path, "", perm, CreateNew)
	if err != nil {
		return err
	}
	return bare(f.Close())
}

// LinkFile fails with errors.ErrUnsupported.
func (d Dir) LinkFile(*os.File, string) error { return errors.ErrUnsupported }

// RenameNew renames the file from to a name that must not be there: by a hard
// link, which no system makes in place of something.
func (d Dir) RenameNew(from, to string) error {
	if err := os.Link(d.join(from), d.join(to)); err != nil {
		return bareLink(err)
	}
	return d.Remove(from)
}

// Rename renames the file from to the name to, in place of what is there.
func (d Dir) Rename(from, to string) error {
	return bareLink(os.Rename(d.join(from), d.join(to)))
}

// Remove removes the file path.
func (d Dir) Remove(path string) error { return bare(os.Remove(d.join(path))) }

func bareLink(err error) error {
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}

// NewMemory fails with errors.ErrUnsupported.
func NewMemory(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// Seal fails with errors.ErrUnsupported.
func Seal(*os.File) error { return errors.ErrUnsupported }

// FileLimits fails with errors.ErrUnsupported.
func FileLimits() (soft, hard uint64, err error) { return 0, 0, errors.ErrUnsupported }

// SetFileLimit fails with errors.ErrUnsupported.
func SetFileLimit(uint64) error { return errors.ErrUnsupported }

// OpenFiles fails with errors.ErrUnsupported.
func OpenFiles() (uint64, error) { return 0, errors.ErrUnsupported }

// SystemFiles fails with errors.ErrUnsupported.
func SystemFiles() (used, most uint64, err error) { return 0, 0, errors.ErrUnsupported }
