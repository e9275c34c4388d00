//go:build !linux

package sys

import "os"

// A Layout describes how a file system can move the content of a file.
type Layout struct {
	Magic uint32
	Block int64
}

// LayoutOf returns the zero Layout.
func LayoutOf(f *os.File) (Layout, error) { return Layout{}, nil }

// Shifts returns false.
func (l Layout) Shifts() bool { return false }

// FastAllocation returns false.
func (l Layout) FastAllocation() bool { return false }

// NoSharing returns true.
func (l Layout) NoSharing() bool { return true }

// Remote returns false.
func (l Layout) Remote() bool { return false }
