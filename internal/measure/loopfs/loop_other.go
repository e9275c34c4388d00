//go:build !linux

package loopfs

import (
	"errors"
	"fmt"
	"os"
)

// Attach is not offered here.
func Attach(image *os.File) (*os.File, error) {
	return nil, fmt.Errorf("loop device: %w", errors.ErrUnsupported)
}

// Detach is not offered here.
func Detach(path, image string) error {
	return &os.PathError{Op: "LOOP_CLR_FD", Path: path, Err: errors.ErrUnsupported}
}
