//go:build !linux

package sys

import (
	"errors"
	"time"
)

// A Process is identified by its number, its start time, the boot, and the PID
// namespace of the number.
type Process struct {
	PID              int
	Start, Namespace uint64
	Boot             string
}

// ThisProcess fails with errors.ErrUnsupported.
func ThisProcess() (Process, error) { return Process{}, errors.ErrUnsupported }

// StartOf fails with errors.ErrUnsupported.
func StartOf(pid int) (uint64, error) { return 0, errors.ErrUnsupported }

// Uptime fails with errors.ErrUnsupported.
func Uptime() (time.Duration, error) { return 0, errors.ErrUnsupported }
