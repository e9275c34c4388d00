//go:build !linux

package sys

import "errors"

// Mounts is not offered here.
func Mounts() ([]MountPoint, error) { return nil, errors.ErrUnsupported }
