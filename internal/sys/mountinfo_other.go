//go:build !linux

package sys

import "errors"

// Mounts fails with errors.ErrUnsupported.
func Mounts() ([]MountPoint, error) { return nil, errors.ErrUnsupported }
