//go:build !linux

package sys

import "errors"

// SeesLocks returns false.
func (d Dir) SeesLocks() bool { return false }

// Device fails with errors.ErrUnsupported.
func (d Dir) Device() (uint64, error) { return 0, errors.ErrUnsupported }

// IsLocal returns false.
func (d Dir) IsLocal() bool { return false }
