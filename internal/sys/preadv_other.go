//go:build !linux

package sys

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Flags and advice that only Linux has.
const (
	ReadDontCache = 1 << iota
	ReadNoWait
)

const (
	AdviseNormal = iota
	AdviseRandom
	AdviseSequential
	AdviseWillNeed
	AdviseDontNeed
	AdviseNoReuse
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

// Pread reads at off: 0 bytes without an error are the end of the file.
func Pread(f *os.File, p []byte, off int64) (int, error) {
	n, err := f.ReadAt(p, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// PreadFlags is not available here.
func PreadFlags(f *os.File, p []byte, off int64, flags int) (int, error) {
	return 0, errors.ErrUnsupported
}

// Fadvise is not available here.
func Fadvise(f *os.File, off, n int64, advice int) error { return errors.ErrUnsupported }
