//go:build !linux

package power

import (
	"context"
	"fmt"
	"os"

	"github.com/stele-go/stele/crashtest"
)

var errNotLinux = fmt.Errorf("power: cuts need Linux, for a FUSE under a loop device: %w", crashtest.ErrUnavailable)

// ServeDisk does nothing: power cuts need Linux.
func ServeDisk() {}

// A Recording cannot be made: power cuts need Linux.
type Recording[T any] struct{}

// Record returns crashtest.ErrUnavailable: it needs Linux.
func Record[T any](o Options, work func(dir string, ack func(entry T)) error) (*Recording[T], error) {
	return nil, errNotLinux
}

// Close does nothing.
func (rec *Recording[T]) Close() error { return nil }

// String says that nothing was recorded.
func (rec *Recording[T]) String() string { return "nothing recorded" }

// Check returns crashtest.ErrUnavailable: it needs Linux.
func (rec *Recording[T]) Check(n int, check func(dir string, acked []T) error) (Result, error) {
	return Result{}, errNotLinux
}

// WriteImage returns crashtest.ErrUnavailable: it needs Linux.
func (rec *Recording[T]) WriteImage(c Cut, f *os.File) error { return errNotLinux }

// Shutdown returns crashtest.ErrUnavailable: it needs Linux.
func Shutdown[T any](o Options, n int, work func(dir string, ack func(entry T)) error, check func(dir string, acked []T) error) (Result, error) {
	return Result{}, errNotLinux
}

// SyncTable returns crashtest.ErrUnavailable: it needs Linux.
func SyncTable(ctx context.Context, o Options, w SyncWay, n int) (SyncRow, error) {
	return SyncRow{}, errNotLinux
}
