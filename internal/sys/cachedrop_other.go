//go:build !linux

package sys

import (
	"errors"
	"os"
)

// DropCache is not available here.
func DropCache(*os.File) error { return errors.ErrUnsupported }

// CachedBytes is not available here.
func CachedBytes(*os.File) (int64, error) { return 0, errors.ErrUnsupported }

// CachedRange is not available here.
func CachedRange(f *os.File, off, n int64) (int64, error) { return 0, errors.ErrUnsupported }
