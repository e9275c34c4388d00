//go:build !linux

package uring

import (
	"errors"
	"os"
	"time"
)

// A Ring is an io_uring(7), which only Linux has.
type Ring struct{}

// Probe fails with errors.ErrUnsupported.
func Probe() error { return errors.ErrUnsupported }

// New fails with errors.ErrUnsupported.
func New(depth int) (*Ring, error) { return nil, errors.ErrUnsupported }

// NewPolled fails with errors.ErrUnsupported.
func NewPolled(depth int) (*Ring, error) { return nil, errors.ErrUnsupported }

// Pollable fails with errors.ErrUnsupported.
func Pollable(f *os.File) error { return errors.ErrUnsupported }

// Depth is 0.
func (r *Ring) Depth() int { return 0 }

// InFlight is 0.
func (r *Ring) InFlight() int { return 0 }

// RegisterBuffers fails with errors.ErrUnsupported.
func (r *Ring) RegisterBuffers(bufs [][]byte) error { return errors.ErrUnsupported }

// Push fails with errors.ErrUnsupported.
func (r *Ring) Push(q Request) error { return errors.ErrUnsupported }

// Wait fails with errors.ErrUnsupported.
func (r *Ring) Wait(done []Completion, atLeast int) (int, error) { return 0, errors.ErrUnsupported }

// WaitUntil fails with errors.ErrUnsupported.
func (r *Ring) WaitUntil(done []Completion, atLeast int, until time.Time) (int, error) {
	return 0, errors.ErrUnsupported
}

// Close does nothing.
func (r *Ring) Close() error { return nil }
