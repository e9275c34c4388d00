//go:build !linux

package sys

import (
	"errors"
	"os"
)

// SyncData makes the file's content durable.
func SyncData(f *os.File) error { return bare(f.Sync()) }

// SyncAll makes all that is known of the file durable.
func SyncAll(f *os.File) error { return bare(f.Sync()) }

// SyncFS fails with errors.ErrUnsupported.
func (d Dir) SyncFS() error { return errors.ErrUnsupported }

// SyncRange fails with errors.ErrUnsupported.
func SyncRange(f *os.File, off, n int64) error { return errors.ErrUnsupported }

// StartWriteback does nothing.
func StartWriteback(fd int, off, n int64) {}
