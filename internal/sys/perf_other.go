//go:build !linux

package sys

import "os"

// OpenPerf is not offered here.
func OpenPerf(e PerfEvent) (*os.File, error) { return nil, unavailable() }

// A PerfCounter reads a counter that the parent of this process opened.
type PerfCounter struct{}

// NewPerfCounter makes a counter that cannot be read.
func NewPerfCounter(fd int) *PerfCounter { return &PerfCounter{} }

// Read is not offered here.
func (c *PerfCounter) Read() (uint64, error) { return 0, unavailable() }
