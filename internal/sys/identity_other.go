//go:build !linux

package sys

import (
	"errors"
	"time"
)

// Identity is not known here.
func (t Temp) Identity() (Identity, error) { return Identity{}, errors.ErrUnsupported }

// Identity is not known here.
func (d Dir) Identity(string) (Identity, error) { return Identity{}, errors.ErrUnsupported }

// OpenTemp is not offered here.
func (d Dir) OpenTemp(string) (Temp, error) { return Temp{}, errors.ErrUnsupported }

// TryLock is not offered here.
func (t Temp) TryLock() (bool, error) { return false, errors.ErrUnsupported }

// Flush has nothing to do here: the file is closed before it is renamed.
func (t Temp) Flush() error { return nil }

// CloseBeforeRename: Windows renames no open file.
const CloseBeforeRename = true

// Uptime is not known here.
func Uptime() (time.Duration, error) { return 0, errors.ErrUnsupported }

// SeesLocks is denied here.
func (d Dir) SeesLocks() bool { return false }
