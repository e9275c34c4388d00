//go:build !linux

package sys

import (
	"errors"
	"os"
)

// Extents is not offered here.
func Extents(*os.File) ([]Extent, error) { return nil, errors.ErrUnsupported }

// Shifts is denied here.
func (l Layout) Shifts() bool { return false }

// InsertRange is not offered here.
func InsertRange(*os.File, int64, int64) error { return errors.ErrUnsupported }

// CollapseRange is not offered here.
func CollapseRange(*os.File, int64, int64) error { return errors.ErrUnsupported }

// OrdersData is denied here.
func OrdersData(*os.File) bool { return false }

// Inode is not told here.
func Inode(os.FileInfo) uint64 { return 0 }

// RemoveXattr is not offered here.
func RemoveXattr(*os.File, string) error { return errors.ErrUnsupported }

// NoXattr: a file has none here.
func NoXattr(error) bool { return true }

// CannotShift: nothing does here.
func CannotShift(error) bool { return true }
