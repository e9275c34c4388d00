//go:build !linux

package sys

import (
	"errors"
	"os"
)

// DeviceOf returns the numbers of the device that a file's status names.
func DeviceOf(f *os.File) (major, minor uint32, err error) { return 0, 0, errors.ErrUnsupported }
