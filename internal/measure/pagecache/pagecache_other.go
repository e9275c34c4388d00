//go:build !linux

package pagecache

import (
	"errors"
	"os"
)

// Drop is not available here.
func Drop(*os.File) error { return errors.ErrUnsupported }

// Cached is not available here.
func Cached(*os.File) (int64, error) { return 0, errors.ErrUnsupported }

// CachedRange is not available here.
func CachedRange(f *os.File, off, n int64) (int64, error) { return 0, errors.ErrUnsupported }
