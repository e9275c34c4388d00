//go:build !linux

package sys

import "errors"

// Absent reports whether err says that the system does not have a call.
func Absent(err error) bool { return errors.Is(err, errors.ErrUnsupported) }
