//go:build !linux

package sys

import "errors"

// FileLimits fails with errors.ErrUnsupported.
func FileLimits() (soft, hard uint64, err error) { return 0, 0, errors.ErrUnsupported }

// SetFileLimit fails with errors.ErrUnsupported.
func SetFileLimit(uint64) error { return errors.ErrUnsupported }

// OpenFiles fails with errors.ErrUnsupported.
func OpenFiles() (uint64, error) { return 0, errors.ErrUnsupported }

// SystemFiles fails with errors.ErrUnsupported.
func SystemFiles() (used, most uint64, err error) { return 0, 0, errors.ErrUnsupported }
