//go:build !linux

package sys

import (
	"errors"
	"os"
	"syscall"
)

// WriteMode are what one write is asked for beyond writing.
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

// NoSuchWrite reports whether err of WriteVec says that a flag is not known.
func NoSuchWrite(err error) bool { return errors.Is(err, errors.ErrUnsupported) }

// Preallocate is not offered here.
func Preallocate(f *os.File, off, n int64) error { return errors.ErrUnsupported }

// AllocateTo is not offered here.
func AllocateTo(f *os.File, size int64) error { return errors.ErrUnsupported }

// SyncRange is not offered here.
func SyncRange(f *os.File, off, n int64) error { return errors.ErrUnsupported }

// OpenedFor is not known here: any file may be read and written, until that
// fails.
func OpenedFor(f *os.File) (Opened, error) {
	if f == nil {
		return Opened{}, os.ErrInvalid
	}
	return Opened{Read: true, Write: true}, nil
}

// CopyOn is not offered here.
func CopyOn(dst *os.File, to *int64, src syscall.RawConn, n int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// NoKernelCopy reports whether another way may do.
func NoKernelCopy(err error) bool { return true }
