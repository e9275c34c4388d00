//go:build !linux

package sys

import (
	"errors"
	"os"
)

// RemoveXattr fails with errors.ErrUnsupported.
func RemoveXattr(*os.File, string) error { return errors.ErrUnsupported }

// NoXattr returns true.
func NoXattr(error) bool { return true }

// GetAttr fails with errors.ErrUnsupported.
func GetAttr(fd int, name string) ([]byte, error) { return nil, errors.ErrUnsupported }

// SetAttr fails with errors.ErrUnsupported.
func SetAttr(fd int, name string, value []byte) error { return errors.ErrUnsupported }

// NoRoomForAttr reports whether err means that this attribute cannot be stored.
func NoRoomForAttr(err error) bool { return errors.Is(err, errors.ErrUnsupported) }

// CopyXattrs fails with errors.ErrUnsupported.
func (d Dir) CopyXattrs(name string, t Temp) error { return errors.ErrUnsupported }

// CopyXattrsOf fails with errors.ErrUnsupported.
func CopyXattrsOf(f *os.File, t Temp) error { return errors.ErrUnsupported }
