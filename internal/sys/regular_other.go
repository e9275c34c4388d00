//go:build !linux

package sys

import (
	"errors"
	"os"
)

// OpenExact opens the regular file path itself, without waiting. The error of any other
// file is a *NotRegularError. A symlink that takes its place during the call is
// followed.
func OpenExact(path string, write bool) (*os.File, error) {
	fi, err := os.Lstat(path)
	if err == nil {
		err = NotRegular(fi.Mode())
	}
	if err != nil {
		return nil, bare(err)
	}
	f, err := OpenRegular(path, write)
	if err != nil {
		return nil, err
	}
	if fi, err = f.Stat(); err == nil {
		err = NotRegular(fi.Mode())
	}
	if err != nil {
		return nil, errors.Join(bare(err), f.Close())
	}
	return f, nil
}

// OpenRegular opens the file path, and follows a symlink.
func OpenRegular(path string, write bool) (*os.File, error) {
	f, err := openShared(path, ExactFlags(write), 0)
	return f, bare(err)
}

// ExactFlags are the flags of OpenRegular.
func ExactFlags(write bool) int {
	if write {
		return os.O_RDWR | nonBlock
	}
	return os.O_RDONLY | nonBlock
}
