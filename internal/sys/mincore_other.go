//go:build !linux

package sys

import (
	"errors"
	"os"
)

// ResidentBytes is not available here.
func ResidentBytes(*os.File) (int64, error) { return 0, errors.ErrUnsupported }

// LockCached is not available here.
func LockCached(*os.File, int) (release func() error, err error) { return nil, errors.ErrUnsupported }
