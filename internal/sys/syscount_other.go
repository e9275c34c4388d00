//go:build !linux || !(amd64 || arm64)

package sys

import "strconv"

// SyscallCounts holds how often each call was made, by its number.
type SyscallCounts [1]uint64

// A SyscallCounter counts system calls where that is possible: on Linux, on
// amd64 and arm64.
type SyscallCounter struct{}

// NewSyscallCounter reports that there is none.
func NewSyscallCounter() (*SyscallCounter, error) { return nil, unavailable() }

// Read does nothing.
func (c *SyscallCounter) Read(into *SyscallCounts) {}

// Close does nothing.
func (c *SyscallCounter) Close() error { return nil }

// SyscallName knows no names here.
func SyscallName(number int) string { return "syscall_" + strconv.Itoa(number) }
