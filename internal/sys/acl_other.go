//go:build !linux

package sys

import (
	"errors"
	"os"
)

// ACL returns no ACL: known is false.
func (d Dir) ACL(name string) (acl []byte, known bool, err error) { return nil, false, nil }

// ACLOf returns no ACL: known is false.
func ACLOf(f *os.File) (acl []byte, known bool, err error) { return nil, false, nil }

// HasACL returns false.
func (t Temp) HasACL() (bool, error) { return false, nil }

// SetACL fails with errors.ErrUnsupported.
func (t Temp) SetACL(acl []byte) error { return errors.ErrUnsupported }
