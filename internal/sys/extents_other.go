//go:build !linux

package sys

import (
	"errors"
	"os"
)

// Extents fails with errors.ErrUnsupported.
func Extents(*os.File) ([]Extent, error) { return nil, errors.ErrUnsupported }

// InsertRange fails with errors.ErrUnsupported.
func InsertRange(*os.File, int64, int64) error { return errors.ErrUnsupported }

// CollapseRange fails with errors.ErrUnsupported.
func CollapseRange(*os.File, int64, int64) error { return errors.ErrUnsupported }

// CannotShift returns true.
func CannotShift(error) bool { return true }
