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

// A Queue keeps reads in flight.
type Queue struct{}

// A Completion is the result of a read.
type Completion struct {
	Tag uint64
	N   int // bytes read
	Err error
}

// NewQueue fails with errors.ErrUnsupported.
func NewQueue(depth int) (*Queue, error) { return nil, errors.ErrUnsupported }

// Push fails with errors.ErrUnsupported.
func (q *Queue) Push(f *os.File, p []byte, off int64, tag uint64) error { return errors.ErrUnsupported }

// Wait fails with errors.ErrUnsupported.
func (q *Queue) Wait(done []Completion, atLeast int) (int, error) { return 0, errors.ErrUnsupported }

// Close does nothing.
func (q *Queue) Close() error { return nil }
