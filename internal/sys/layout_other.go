//go:build !linux

package sys

import "os"

// A Layout is what decides how a file can be moved about.
type Layout struct {
	Magic uint32
	Block int64
}

// LayoutOf knows nothing here.
func LayoutOf(f *os.File) (Layout, error) { return Layout{}, nil }

// Shifts is denied here.
func (l Layout) Shifts() bool { return false }

// FastAllocation is denied here.
func (l Layout) FastAllocation() bool { return false }

// NoSharing: nothing is shared here.
func (l Layout) NoSharing() bool { return true }

// Remote is not known here.
func (l Layout) Remote() bool { return false }
