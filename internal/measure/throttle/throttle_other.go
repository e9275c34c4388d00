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

// Unified is not offered here.
func Unified() (string, error) {
	return "", fmt.Errorf("limit of a device: %w", errors.ErrUnsupported)
}

// SetMax is not offered here.
func SetMax(group, device string, l Limit) error {
	return fmt.Errorf("limit of a device: %w", errors.ErrUnsupported)
}

// OwnGroup is not offered here.
func OwnGroup(root string) (string, error) {
	return "", fmt.Errorf("limit of a device: %w", errors.ErrUnsupported)
}

// JoinJournal does nothing here.
func JoinJournal(group, device string) {}

func ended(error) bool { return false }
