//go:build !linux

package sys

import "errors"

// Identity fails with errors.ErrUnsupported.
func (t Temp) Identity() (Identity, error) { return Identity{}, errors.ErrUnsupported }

// Identity fails with errors.ErrUnsupported.
func (d Dir) Identity(string) (Identity, error) { return Identity{}, errors.ErrUnsupported }
