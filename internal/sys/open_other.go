//go:build !linux

package sys

import (
	"errors"
	"io/fs"
	"os"
)

// OpenRead opens a file for reading. It does not wait for the other end of a FIFO: the
// caller checks the kind of the file.
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

// ReopenRead fails with errors.ErrUnsupported.
func ReopenRead(f *os.File) (*os.File, error) { return nil, errors.ErrUnsupported }

// Reopen fails with errors.ErrUnsupported.
func Reopen(f *os.File, direct, dsync bool) (*os.File, error) { return nil, errors.ErrUnsupported }

// OpenedFor returns that any file may be read and written.
func OpenedFor(f *os.File) (Opened, error) {
	if f == nil {
		return Opened{}, os.ErrInvalid
	}
	return Opened{Read: true, Write: true}, nil
}
