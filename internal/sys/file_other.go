//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	return d.openFile(path, int(use)|os.O_CREATE|os.O_RDWR, perm)
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
	link := os.Link
	if d.root != nil {
		link = d.root.Link
	}
	if err := link(d.path(from), d.path(to)); err != nil {
		return bareLink(err)
	}
	return d.Remove(from)
}

// Rename renames the file from to the name to, in place of what is there.
func (d Dir) Rename(from, to string) error {
	rename := os.Rename
	if d.root != nil {
		rename = d.root.Rename
	}
	return bareLink(rename(d.path(from), d.path(to)))
}

// MoveNew is RenameNew into a directory below d.
func (d Dir) MoveNew(from string, other Dir, to string) error {
	to, err := d.below(other, to)
	if err != nil {
		return err
	}
	return d.RenameNew(from, to)
}

// Move is Rename into a directory below d.
func (d Dir) Move(from string, other Dir, to string) error {
	to, err := d.below(other, to)
	if err != nil {
		return err
	}
	return d.Rename(from, to)
}

// below is name in other as d names it.
func (d Dir) below(other Dir, name string) (string, error) {
	rel, err := filepath.Rel(d.name, other.name)
	return filepath.Join(rel, name), err
}

// Remove removes the file path.
func (d Dir) Remove(path string) error {
	remove := os.Remove
	if d.root != nil {
		remove = d.root.Remove
	}
	return bare(remove(d.path(path)))
}

func (d Dir) openFile(path string, flags int, perm fs.FileMode) (*os.File, error) {
	if d.root != nil {
		f, err := d.root.OpenFile(path, flags, perm.Perm()) // os.Root refuses other bits
		return f, bare(err)
	}
	f, err := openShared(d.join(path), flags, perm)
	return f, bare(err)
}

// path is what the functions of package os, or the methods of d.root, take.
func (d Dir) path(path string) string {
	if d.root != nil {
		return path
	}
	return d.join(path)
}

func bareLink(err error) error {
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}

// Umask is not known here: 0.
func Umask() (fs.FileMode, error) { return 0, nil }

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
