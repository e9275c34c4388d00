//go:build unix && !linux

package sys

import "syscall"

// nonBlock keeps an open from waiting for the other end of a FIFO.
const nonBlock = syscall.O_NONBLOCK
