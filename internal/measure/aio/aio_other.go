//go:build !linux

package aio

import (
	"errors"
	"os"
)

// A Context is a context of Linux native asynchronous I/O.
type Context struct{}

// New fails with errors.ErrUnsupported.
func New() (*Context, error) { return nil, errors.ErrUnsupported }

// WriteAt fails with errors.ErrUnsupported.
func (a *Context) WriteAt(f *os.File, p []byte, off int64) error { return errors.ErrUnsupported }

// Close does nothing.
func (a *Context) Close() error { return nil }

// OpenDirectSync fails with errors.ErrUnsupported.
func OpenDirectSync(path string) (*os.File, error) { return nil, errors.ErrUnsupported }
