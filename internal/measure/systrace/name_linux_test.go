//go:build amd64 || arm64

package systrace

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestSyscallNames(t *testing.T) {
	for number, want := range map[int]string{
		unix.SYS_MKDIRAT:    "mkdirat",
		unix.SYS_FSYNC:      "fsync",
		unix.SYS_OPENAT2:    "openat2",
		unix.SYS_STATX:      "statx",
		Slots - 2:           "syscall_510",
		Slots - 1:           "other",
		unix.SYS_EXIT_GROUP: "exit_group",
	} {
		if got := Name(number); got != want {
			t.Errorf("SyscallName(%d) is %q, want %q", number, got, want)
		}
	}
	for _, names := range []map[int]string{commonSyscalls, ownSyscalls} {
		for number, name := range names {
			if number >= Slots-1 {
				t.Errorf("%s has number %d: make room for it in SyscallSlots", name, number)
			}
		}
	}
}
