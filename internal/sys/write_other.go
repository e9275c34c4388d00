//go:build !linux

package sys

import (
	"errors"
	"os"
)

// WriteAt fails with errors.ErrUnsupported.
func WriteAt(fd int, b []byte, off int64) (int, error) { return 0, errors.ErrUnsupported }

// WriteDurably fails with errors.ErrUnsupported.
func WriteDurably(f *os.File, b []byte, off int64) (int, error) { return 0, errors.ErrUnsupported }

// WriteMode are flags of one write.
type WriteMode int

const (
	WriteDurable  WriteMode = 1 << iota // not offered here
	WriteUncached                       // not offered here
)

// WriteVec writes a and then b at off.
func WriteVec(f *os.File, a, b []byte, off int64, flags WriteMode) (n int, err error) {
	if flags != 0 {
		return 0, errors.ErrUnsupported
	}
	if len(a) > 0 {
		if n, err = f.WriteAt(a, off); err != nil {
			return n, bare(err)
		}
	}
	if len(b) > 0 {
		m, err := f.WriteAt(b, off+int64(n))
		return n + m, bare(err)
	}
	return n, nil
}

// NoSuchWrite reports whether err of WriteVec means that a flag is unknown.
func NoSuchWrite(err error) bool { return errors.Is(err, errors.ErrUnsupported) }
