//go:build unix

package scratch

import "syscall"

const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
