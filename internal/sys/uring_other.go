//go:build !linux

package sys

import "errors"

// A URing is an io_uring(7), which only Linux has.
type URing struct{}

// ProbeURing fails with errors.ErrUnsupported.
func ProbeURing() error { return errors.ErrUnsupported }

// NewURing fails with errors.ErrUnsupported.
func NewURing(depth int) (*URing, error) { return nil, errors.ErrUnsupported }

// Depth is 0.
func (r *URing) Depth() int { return 0 }

// InFlight is 0.
func (r *URing) InFlight() int { return 0 }

// RegisterBuffers fails with errors.ErrUnsupported.
func (r *URing) RegisterBuffers(bufs [][]byte) error { return errors.ErrUnsupported }

// Push fails with errors.ErrUnsupported.
func (r *URing) Push(q URingRequest) error { return errors.ErrUnsupported }

// Wait fails with errors.ErrUnsupported.
func (r *URing) Wait(done []URingDone, atLeast int) (int, error) { return 0, errors.ErrUnsupported }

// Close does nothing.
func (r *URing) Close() error { return nil }
