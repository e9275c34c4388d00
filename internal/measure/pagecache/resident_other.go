//go:build !linux

package pagecache

import (
	"errors"
	"os"
)

// Resident is not available here.
func Resident(*os.File) (int64, error) { return 0, errors.ErrUnsupported }

// Lock is not available here.
func Lock(*os.File, int) (release func() error, err error) { return nil, errors.ErrUnsupported }
