//go:build !linux

package sys

import "errors"

// Identity is not known here.
func (t Temp) Identity() (Identity, error) { return Identity{}, errors.ErrUnsupported }

// Identity is not known here.
func (d Dir) Identity(string) (Identity, error) { return Identity{}, errors.ErrUnsupported }
