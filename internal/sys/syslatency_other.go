//go:build !linux

package sys

// A SyscallWatch sees each system call of one process, where that is
// possible.
type SyscallWatch struct{}

// WatchSyscalls is not offered here.
func WatchSyscalls() (*SyscallWatch, error) { return nil, unavailable() }

// Drain does nothing.
func (w *SyscallWatch) Drain(pid int) {}

// Calls are none.
func (w *SyscallWatch) Calls() (calls []SyscallTime, lost uint64) { return nil, 0 }

// Close does nothing.
func (w *SyscallWatch) Close() error { return nil }
