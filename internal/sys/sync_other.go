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

// SyncFS is not offered here.
func (d Dir) SyncFS() error { return errors.ErrUnsupported }

// SyncRange is not offered here.
func SyncRange(f *os.File, off, n int64) error { return errors.ErrUnsupported }

// StartWriteback is a hint that nobody takes here.
func StartWriteback(fd int, off, n int64) {}
