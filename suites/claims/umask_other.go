//go:build !unix

package claims

import (
	"errors"
	"os"
)

// withUmask is not available here.
func withUmask(os.FileMode, func() error) error { return errors.ErrUnsupported }
