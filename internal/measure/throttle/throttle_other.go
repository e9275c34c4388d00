//go:build !linux

package throttle

import (
	"errors"
	"fmt"
)

// MountBlkio is not offered here.
func MountBlkio(dir string) error {
	return fmt.Errorf("limit of a device: %w", errors.ErrUnsupported)
}

// Throttle is not offered here.
func Set(group, device string, l Limit) error {
	return fmt.Errorf("limit of a device: %w", errors.ErrUnsupported)
}

// JoinRoot is not offered here.
func JoinRoot(group string) error {
	return fmt.Errorf("limit of a device: %w", errors.ErrUnsupported)
}
