package mkdir

import (
	"errors"
	"syscall"
)

// Package syscall has these names on every system that Go runs on except plan9,
// where a Maker is of no use.
const (
	errNotDir  = syscall.ENOTDIR
	errLoop    = syscall.ELOOP
	errExist   = syscall.EEXIST
	errTooLong = syscall.ENAMETOOLONG
)

func isNotDir(err error) bool { return errors.Is(err, errNotDir) || errors.Is(err, errLoop) }
