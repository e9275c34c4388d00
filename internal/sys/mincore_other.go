//go:build !linux

package sys

import (
	"errors"
	"os"
)

// ResidentBytes is not available here.
func ResidentBytes(*os.File) (int64, error) { return 0, errors.ErrUnsupported }
