//go:build !linux

package states

import (
	"fmt"

	"github.com/stele-go/stele/crashtest"
)

var errNoMount = fmt.Errorf("states: recording through a mount needs Linux: %w", crashtest.ErrUnavailable)

// RecordMount returns crashtest.ErrUnavailable: it needs Linux.
func RecordMount[T any](o MountOptions, work func(dir string, ack func(entry T)) error) (*History[T], error) {
	return nil, errNoMount
}

// FaultsMount reports crashtest.ErrUnavailable: it needs Linux.
func FaultsMount[T any](o FaultOptions, work func(dir string, ack func(entry T)) error, check func(dir string, acked []T) error) FaultReport {
	return FaultReport{Broken: errNoMount}
}
