//go:build !linux

package crashtest

import "testing"

// MountOptions are the settings of a recording through a mount.
type MountOptions struct {
	// Prepare, unless nil, makes what is there before the work; all of it is
	// durable.
	Prepare func(dir string) error
}

// RecordMount skips the test: it needs Linux.
func RecordMount[T any](t testing.TB, o MountOptions, work func(dir string, ack func(entry T)) error) *History[T] {
	t.Helper()
	t.Skip("recording through a mount needs Linux: FUSE")
	return nil
}

// FaultsMount skips the test: it needs Linux.
func FaultsMount[T any](t testing.TB, o FaultOptions, work func(dir string, ack func(entry T)) error, check func(dir string, acked []T) error) FaultReport {
	t.Helper()
	t.Skip("faults through a mount need Linux: FUSE")
	return FaultReport{}
}
