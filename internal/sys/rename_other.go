//go:build !linux

package sys

import (
	"errors"
	"os"
	"path/filepath"
)

// LinkFile fails with errors.ErrUnsupported.
func (d Dir) LinkFile(*os.File, string) error { return errors.ErrUnsupported }

// RenameNew renames the file from to the name to. It fails if that exists: it uses a hard
// link, which never replaces a file.
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

// Rename renames the file from to the name to, replacing an existing file.
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

// below returns the path of name in other, relative to d.
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

func bareLink(err error) error {
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}

// CloseBeforeRename is whether a file must be closed before it can be renamed, as on
// Windows.
const CloseBeforeRename = true

// Exchange fails with errors.ErrUnsupported.
func (d Dir) Exchange(string, Dir, string) error { return errors.ErrUnsupported }
