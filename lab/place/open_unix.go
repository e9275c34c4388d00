//go:build unix

package place

import "syscall"

const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
