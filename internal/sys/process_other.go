//go:build !linux

package sys

import (
	"errors"
	"time"
)

// A Process is told from every other one.
type Process struct {
	PID              int
	Start, Namespace uint64
	Boot             string
}

// ThisProcess cannot tell here when it started.
func ThisProcess() (Process, error) { return Process{}, errors.ErrUnsupported }

// StartOf is not known here.
func StartOf(pid int) (uint64, error) { return 0, errors.ErrUnsupported }

// Uptime is not known here.
func Uptime() (time.Duration, error) { return 0, errors.ErrUnsupported }
