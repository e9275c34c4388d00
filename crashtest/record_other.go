//go:build !linux

package crashtest

import (
	"errors"
	"os"
	"testing"
)

// ServeDisk does nothing here.
func ServeDisk() {}

// A Recording is not to be had here.
type Recording[T any] struct{}

// Record skips the test: it needs Linux.
func Record[T any](t testing.TB, o Options, work func(dir string, ack func(entry T)) error) *Recording[T] {
	t.Helper()
	t.Skip("power cuts need Linux: FUSE under a loop device")
	return nil
}

// Check is never reached.
func (rec *Recording[T]) Check(t testing.TB, n int, check func(dir string, acked []T) error) Result {
	return Result{}
}

// WriteImage is never reached.
func (rec *Recording[T]) WriteImage(c Cut, f *os.File) error { return errors.ErrUnsupported }

// Shutdown skips the test: it needs Linux.
func Shutdown[T any](t testing.TB, o Options, n int, work func(dir string, ack func(entry T)) error, check func(dir string, acked []T) error) Result {
	t.Helper()
	t.Skip("shutting a file system down needs Linux: a loop device and FS_IOC_SHUTDOWN")
	return Result{}
}
