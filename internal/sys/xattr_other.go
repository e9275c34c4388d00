//go:build !linux

package sys

import "errors"

// Xattrs says which extended attributes CopyXattrs is to copy.
type Xattrs struct {
	ACL   bool
	Other bool
}

// CopyXattrs is not offered here.
func (d Dir) CopyXattrs(name string, t Temp, which Xattrs) error { return errors.ErrUnsupported }
