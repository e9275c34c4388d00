//go:build !linux

package sys

import "errors"

// SeesLocks is denied here.
func (d Dir) SeesLocks() bool { return false }

// Device is not known here.
func (d Dir) Device() (uint64, error) { return 0, errors.ErrUnsupported }

// IsLocal is denied here.
func (d Dir) IsLocal() bool { return false }
