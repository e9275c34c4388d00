//go:build !linux || !(amd64 || arm64)

package systrace

import "strconv"

// Slots is 1: no call is told apart.
const Slots = 1

// Name knows no names here.
func Name(number int) string { return "syscall_" + strconv.Itoa(number) }
