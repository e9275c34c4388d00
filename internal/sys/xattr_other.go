//go:build !linux

package sys

import (
	"errors"
	"os"
)

// RemoveXattr is not offered here.
func RemoveXattr(*os.File, string) error { return errors.ErrUnsupported }

// NoXattr: a file has none here.
func NoXattr(error) bool { return true }

// GetAttr is not offered here.
func GetAttr(fd int, name string) ([]byte, error) { return nil, errors.ErrUnsupported }

// SetAttr is not offered here.
func SetAttr(fd int, name string, value []byte) error { return errors.ErrUnsupported }

// NoRoomForAttr reports whether err says that this attribute cannot be kept
// there.
func NoRoomForAttr(err error) bool { return errors.Is(err, errors.ErrUnsupported) }

// CopyXattrs is not offered here.
func (d Dir) CopyXattrs(name string, t Temp) error { return errors.ErrUnsupported }

// CopyXattrsOf is not offered here.
func CopyXattrsOf(f *os.File, t Temp) error { return errors.ErrUnsupported }
