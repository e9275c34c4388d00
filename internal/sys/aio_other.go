//go:build !linux

package sys

import (
	"errors"
	"os"
)

// An AIO is a context of Linux native asynchronous I/O.
type AIO struct{}

// NewAIO fails with errors.ErrUnsupported.
func NewAIO() (*AIO, error) { return nil, errors.ErrUnsupported }

// WriteAt fails with errors.ErrUnsupported.
func (a *AIO) WriteAt(f *os.File, p []byte, off int64) error { return errors.ErrUnsupported }

// Close does nothing.
func (a *AIO) Close() error { return nil }

// OpenDirectSync fails with errors.ErrUnsupported.
func OpenDirectSync(path string) (*os.File, error) { return nil, errors.ErrUnsupported }
