//go:build !linux

package sys

import (
	"errors"
	"fmt"
)

// MountBlkio is not offered here.
func MountBlkio(dir string) error {
	return fmt.Errorf("limit of a device: %w", errors.ErrUnsupported)
}

// Throttle is not offered here.
func Throttle(group, device string, l DeviceLimit) error {
	return fmt.Errorf("limit of a device: %w", errors.ErrUnsupported)
}

// JoinBlkioRoot is not offered here.
func JoinBlkioRoot(group string) error {
	return fmt.Errorf("limit of a device: %w", errors.ErrUnsupported)
}
