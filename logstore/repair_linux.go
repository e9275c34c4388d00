package logstore

import (
	"errors"
	"syscall"
)

// isNoExchange reports whether the file system cannot exchange two names:
// renameat2(2).
func isNoExchange(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS)
}
