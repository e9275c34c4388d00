//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
)

// OpenRead opens a file for reading. A FIFO is not waited for: the caller looks
// at what it got.
func OpenRead(name string, direct bool) (*os.File, error) {
	if direct {
		return nil, &os.PathError{Op: "open O_DIRECT", Path: name, Err: errors.ErrUnsupported}
	}
	return os.OpenFile(name, os.O_RDONLY|nonBlock, 0)
}

// OpenReadBeneath is OpenRead below root, as OpenFileBeneath is.
func OpenReadBeneath(root *os.Root, name string, direct, oneMount bool) (*os.File, error) {
	fail := func(path string, err error) (*os.File, error) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	path, err := CleanBeneath(name)
	if err != nil {
		return fail(name, err)
	}
	if direct {
		return fail(name, errors.ErrUnsupported)
	}
	d, err := RootDir(root, ForPath)
	if err != nil {
		return fail(root.Name(), err)
	}
	defer d.Close()
	f, err := d.OpenFileBeneath(path, name, os.O_RDONLY|nonBlock, 0, oneMount)
	if err != nil {
		return fail(name, bare(err))
	}
	return f, nil
}

// ReopenRead is not offered here.
func ReopenRead(f *os.File) (*os.File, error) { return nil, errors.ErrUnsupported }

// Reopen is not offered here.
func Reopen(f *os.File, direct, dsync bool) (*os.File, error) { return nil, errors.ErrUnsupported }

// OpenedFor is not known here: any file may be read and written, until that
// fails.
func OpenedFor(f *os.File) (Opened, error) {
	if f == nil {
		return Opened{}, os.ErrInvalid
	}
	return Opened{Read: true, Write: true}, nil
}
