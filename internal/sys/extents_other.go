//go:build !linux

package sys

import (
	"errors"
	"os"
)

// Extents is not offered here.
func Extents(*os.File) ([]Extent, error) { return nil, errors.ErrUnsupported }

// InsertRange is not offered here.
func InsertRange(*os.File, int64, int64) error { return errors.ErrUnsupported }

// CollapseRange is not offered here.
func CollapseRange(*os.File, int64, int64) error { return errors.ErrUnsupported }

// CannotShift: nothing does here.
func CannotShift(error) bool { return true }
