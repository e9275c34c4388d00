//go:build amd64 || arm64

package systrace

import "fmt"

// Slots is the number of calls that are told apart: a power of two
// above the highest number in use. The last slot is for whatever has a higher
// number.
const Slots = 512

// Name is the name of the call with that number on this
// architecture, "mkdirat" for example; "syscall_N" where it has none yet,
// and "other" for the last slot.
func Name(number int) string {
	if number == Slots-1 {
		return "other"
	}
	if name, ok := commonSyscalls[number]; ok {
		return name
	}
	if name, ok := ownSyscalls[number]; ok {
		return name
	}
	return fmt.Sprintf("syscall_%d", number)
}
