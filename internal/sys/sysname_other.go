//go:build !linux || !(amd64 || arm64)

package sys

import "strconv"

// SyscallSlots is 1: no call is told apart.
const SyscallSlots = 1

// SyscallName knows no names here.
func SyscallName(number int) string { return "syscall_" + strconv.Itoa(number) }
