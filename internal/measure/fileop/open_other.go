//go:build !linux

package fileop

import (
	"errors"
	"os"
)

// DataSync is not available here.
const DataSync = 0

// DirectFlag is not available here.
const DirectFlag = 0

// Redirect is not available here.
func Redirect(to, from *os.File) error { return errors.ErrUnsupported }

// CreateNewBeneath is not available here.
func CreateNewBeneath(dir *os.File, rel string) (*os.File, error) { return nil, errors.ErrUnsupported }
