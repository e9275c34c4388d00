//go:build !linux

package pagecache

import (
	"errors"
	"os"
	"time"
)

// Drop is not available here.
func Drop(*os.File) error { return errors.ErrUnsupported }

// Cached is not available here.
func Cached(*os.File) (int64, error) { return 0, errors.ErrUnsupported }

// Dirty is not available here.
func Dirty(*os.File) (int64, error) { return 0, errors.ErrUnsupported }

// Evicted is not available here.
func Evicted(*os.File) (int64, error) { return 0, errors.ErrUnsupported }

// Swap is not available here.
func Swap() (int64, error) { return 0, errors.ErrUnsupported }

// WriteBackAge is not available here.
func WriteBackAge() (time.Duration, error) { return 0, errors.ErrUnsupported }
