//go:build !linux

package sys

import (
	"errors"
	"os"
)

// WriteDurably is not offered here.
func WriteDurably(f *os.File, b []byte, off int64) (int, error) { return 0, errors.ErrUnsupported }

// Reopen is not offered here.
func Reopen(f *os.File, direct, dsync bool) (*os.File, error) { return nil, errors.ErrUnsupported }
