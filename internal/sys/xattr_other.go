//go:build !linux

package sys

import (
	"errors"
	"os"
)

// CopyXattrs is not offered here.
func (d Dir) CopyXattrs(name string, t Temp) error { return errors.ErrUnsupported }

// CopyXattrsOf is not offered here.
func CopyXattrsOf(f *os.File, t Temp) error { return errors.ErrUnsupported }
