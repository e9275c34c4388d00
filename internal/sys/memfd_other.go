//go:build !linux

package sys

import (
	"errors"
	"os"
)

// NewMemory fails with errors.ErrUnsupported.
func NewMemory(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// Seal fails with errors.ErrUnsupported.
func Seal(*os.File) error { return errors.ErrUnsupported }
