//go:build !linux

package sys

import (
	"errors"
	"os"
)

// ACL is not known here.
func (d Dir) ACL(name string) (acl []byte, known bool, err error) { return nil, false, nil }

// ACLOf is not known here.
func ACLOf(f *os.File) (acl []byte, known bool, err error) { return nil, false, nil }

// HasACL is not known here.
func (t Temp) HasACL() (bool, error) { return false, nil }

// SetACL is not offered here.
func (t Temp) SetACL(acl []byte) error { return errors.ErrUnsupported }
