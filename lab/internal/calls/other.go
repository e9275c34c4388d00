//go:build !linux || !(amd64 || arm64)

package calls

import (
	"errors"
	"fmt"
	"runtime"
)

func unavailable() error {
	return fmt.Errorf("count or time system calls on %s/%s: %w; want Linux on amd64 or arm64", runtime.GOOS, runtime.GOARCH, errors.ErrUnsupported)
}

// A Counter counts system calls where that is possible.
type Counter struct{}

// NewCounter returns an error.
func NewCounter() (*Counter, error) { return nil, unavailable() }

// Read does nothing.
func (c *Counter) Read(into *Counts) {}

// Close does nothing.
func (c *Counter) Close() error { return nil }

// A Timer times system calls where that is possible.
type Timer struct{}

// NewTimer returns an error.
func NewTimer() (*Timer, error) { return nil, unavailable() }

// Begin does nothing.
func (t *Timer) Begin() {}

// End does nothing.
func (t *Timer) End() {}

// Read returns nothing.
func (t *Timer) Read() map[int]*Latency { return nil }

// Close does nothing.
func (t *Timer) Close() error { return nil }

// SyncFlags counts calls that ask for a sync by a flag, where that is possible.
type SyncFlags struct{}

// NewSyncFlags returns an error.
func NewSyncFlags() (*SyncFlags, error) { return nil, unavailable() }

// Read returns 0.
func (s *SyncFlags) Read() uint64 { return 0 }

// Close does nothing.
func (s *SyncFlags) Close() error { return nil }
