//go:build !linux

package sys

import (
	"errors"
	"fmt"
	"os"
)

// LoopAttach is not offered here.
func LoopAttach(image *os.File) (*os.File, error) {
	return nil, fmt.Errorf("loop device: %w", errors.ErrUnsupported)
}

// LoopDetach is not offered here.
func LoopDetach(path, image string) error {
	return &os.PathError{Op: "LOOP_CLR_FD", Path: path, Err: errors.ErrUnsupported}
}
