//go:build !linux

package sys

import (
	"errors"
	"os"
)

// OpenTmpfile is not offered here.
func OpenTmpfile(dir string) (*os.File, error) { return nil, errors.ErrUnsupported }
