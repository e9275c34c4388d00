//go:build !linux

package sys

import (
	"errors"
	"io"
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

// Pread reads at off. It returns 0 bytes without an error at the end of the file.
func Pread(f *os.File, p []byte, off int64) (int, error) {
	n, err := f.ReadAt(p, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// PreadFlags fails with errors.ErrUnsupported.
func PreadFlags(f *os.File, p []byte, off int64, flags int) (int, error) {
	return 0, errors.ErrUnsupported
}

// Fadvise fails with errors.ErrUnsupported.
func Fadvise(f *os.File, off, n int64, advice int) error { return errors.ErrUnsupported }

// CachedBytes fails with errors.ErrUnsupported.
func CachedBytes(f *os.File, off, n int64) (int64, error) { return 0, errors.ErrUnsupported }
