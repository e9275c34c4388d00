//go:build !linux

package perf

import (
	"os"

	"github.com/stele-go/stele/internal/sys"
)

// Open is not offered here.
func Open(e Event) (*os.File, error) { return nil, sys.Unavailable() }

// A Counter reads a counter that the parent of this process opened.
type Counter struct{}

// NewCounter makes a counter that cannot be read.
func NewCounter(fd int) *Counter { return &Counter{} }

// Read is not offered here.
func (c *Counter) Read() (uint64, error) { return 0, sys.Unavailable() }
