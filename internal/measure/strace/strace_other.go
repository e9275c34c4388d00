//go:build !linux

package strace

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// Run fails with errors.ErrUnsupported.
func Run(context.Context, Command) (Report, error) {
	return Report{}, fmt.Errorf("strace: trace a command on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
