//go:build amd64 || arm64

package sys

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func openCounter(t testing.TB) *SyscallCounter {
	c, err := NewSyscallCounter()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Exactly the calls that were made, from all threads, and none of another
// process.
func TestSyscallCounterIsExact(t *testing.T) {
	c := openCounter(t)
	dir := t.TempDir()
	const workers, each = 4, 250
	names := make([]string, workers*each)
	for i := range names {
		names[i] = filepath.Join(dir, strconv.Itoa(i))
	}
	var before, after SyscallCounts
	var wg sync.WaitGroup
	c.Read(&before)
	for w := range workers {
		wg.Go(func() {
			for _, name := range names[w*each : (w+1)*each] {
				if err := unix.Mkdirat(unix.AT_FDCWD, name, 0o755); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	c.Read(&after)
	if got := after[unix.SYS_MKDIRAT] - before[unix.SYS_MKDIRAT]; got != workers*each {
		t.Errorf("counted %d mkdirat, want %d", got, workers*each)
	}
	for _, none := range []int{unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_READ, unix.SYS_OPENAT} {
		if got := after[none] - before[none]; got != 0 {
			t.Errorf("counted %d %s, want none", got, SyscallName(none))
		}
	}
}

// Reading the counts is not counted, nor does it allocate.
func TestSyscallCounterReadLeavesNoTrace(t *testing.T) {
	c := openCounter(t)
	// A preemption or the scheduler may make a call of its own in between, so
	// one clean pass of ten is asked for.
	var before, after SyscallCounts
	for range 10 {
		c.Read(&before)
		allocs := testing.AllocsPerRun(10, func() { c.Read(&after) })
		c.Read(&before)
		c.Read(&after)
		if allocs == 0 && before == after {
			return
		}
	}
	t.Error("ten pairs of readings, one right after the other, all differ or allocate")
}

func TestSyscallCounterOtherSlot(t *testing.T) {
	c := openCounter(t)
	var before, after SyscallCounts
	c.Read(&before)
	unix.RawSyscall(100_000, 0, 0, 0) // no such call
	c.Read(&after)
	if got := after[syscallSlots-1] - before[syscallSlots-1]; got != 1 {
		t.Errorf("a number out of range was counted %d times as %q, want once", got, SyscallName(syscallSlots-1))
	}
}

func TestSyscallNames(t *testing.T) {
	for number, want := range map[int]string{
		unix.SYS_MKDIRAT:    "mkdirat",
		unix.SYS_FSYNC:      "fsync",
		unix.SYS_OPENAT2:    "openat2",
		unix.SYS_STATX:      "statx",
		syscallSlots - 2:    "syscall_510",
		syscallSlots - 1:    "other",
		unix.SYS_EXIT_GROUP: "exit_group",
	} {
		if got := SyscallName(number); got != want {
			t.Errorf("SyscallName(%d) is %q, want %q", number, got, want)
		}
	}
	for _, names := range []map[int]string{commonSyscalls, ownSyscalls} {
		for number, name := range names {
			if number >= syscallSlots-1 {
				t.Errorf("%s has number %d: make room for it in syscallSlots", name, number)
			}
		}
	}
}

func TestSyscallCounterCloseStopsCounting(t *testing.T) {
	c := openCounter(t)
	var first, second SyscallCounts
	fd := c.on
	c.Read(&first)
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
	c.on = -1
	c.Read(&first)
	os.Getpid()
	unix.Getppid()
	c.Read(&second)
	if first != second {
		t.Error("still counts after the program was taken off the tracepoint")
	}
}

func TestSyscallCounterErrors(t *testing.T) {
	if os.Geteuid() != 0 {
		if c, err := NewSyscallCounter(); err == nil {
			c.Close() // the test binary was given the capabilities
		} else if !strings.Contains(err.Error(), "cap_bpf,cap_perfmon") {
			t.Errorf("without root: %v", err)
		}
	}
	for err, want := range map[error]string{
		unix.EPERM:  "setcap cap_bpf,cap_perfmon+ep",
		unix.ENOSYS: "CONFIG_BPF_SYSCALL",
		unix.EINVAL: "Linux 5.7",
	} {
		if got := bpfError(err).Error(); !strings.Contains(got, want) {
			t.Errorf("%v becomes %q, want something about %q", err, got, want)
		}
	}
}
