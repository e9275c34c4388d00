//go:build !linux

// Package rlimit tries limits on descriptors of other processes on Linux.
package rlimit

import "errors"

// NrOpen returns 0: there is no such limit here.
func NrOpen() uint64 { return 0 }

// ErrNotAllowed says that this process may not raise a hard limit.
var ErrNotAllowed = errors.New("a hard limit cannot be raised")

// SetHard is not available here.
func SetHard(pid int, hard uint64) (refused bool, err error) { return false, errors.ErrUnsupported }
