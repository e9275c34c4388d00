//go:build amd64 || arm64

package calls

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/measure/systrace"
)

// skipRefused skips where the kernel does not let us.
func skipRefused(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func openCounter(t testing.TB) *Counter {
	c, err := NewCounter()
	skipRefused(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// Exactly the calls that were made, from all threads, and none of another
// process.
func TestCounterIsExact(t *testing.T) {
	c := openCounter(t)
	// Go's scheduler may wake its poller meanwhile, which reads: of a few tries
	// one has the counts for itself.
	var odd string
	for range 5 {
		if odd = callsOfWorkers(t, c); odd == "" {
			return
		}
		t.Log(odd)
	}
	t.Error("five times: " + odd)
}

// callsOfWorkers makes calls from several threads, and tells which others were
// counted, or "".
func callsOfWorkers(t *testing.T, c *Counter) (odd string) {
	t.Helper()
	dir := t.TempDir()
	const workers, each = 4, 250
	names := make([]string, workers*each)
	for i := range names {
		names[i] = filepath.Join(dir, strconv.Itoa(i))
	}
	var before, after Counts
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
			odd += fmt.Sprintf("counted %d %s, want none; ", got, systrace.Name(none))
		}
	}
	return odd
}

// Reading the counts is not counted, nor does it allocate.
func TestCounterReadLeavesNoTrace(t *testing.T) {
	c := openCounter(t)
	// A preemption, the scheduler or its monitor, which is awake every 20 us at
	// times, may make a call of their own in between, so one clean pass of many
	// is asked for.
	var before, after Counts
	for begun, tries := time.Now(), 0; tries < 100 || time.Since(begun) < 5*time.Second; tries++ {
		c.Read(&before)
		allocs := testing.AllocsPerRun(10, func() { c.Read(&after) })
		c.Read(&before)
		c.Read(&after)
		if allocs == 0 && before == after {
			return
		}
	}
	t.Error("of all pairs of readings, one right after the other, no two are alike, or they allocate")
}

func TestCounterOtherSlot(t *testing.T) {
	c := openCounter(t)
	var before, after Counts
	c.Read(&before)
	unix.RawSyscall(100_000, 0, 0, 0) // no such call
	c.Read(&after)
	const last = systrace.Slots - 1
	if got := after[last] - before[last]; got != 1 {
		t.Errorf("a number out of range was counted %d times as %q, want once", got, systrace.Name(last))
	}
}

func TestCounterStops(t *testing.T) {
	c := openCounter(t)
	var first, second Counts
	on := len(c.pieces) - 1
	if err := c.pieces[on].Close(); err != nil { // the link alone: the counts stay readable
		t.Fatal(err)
	}
	c.pieces = c.pieces[:on]
	c.Read(&first)
	os.Getpid()
	unix.Getppid()
	c.Read(&second)
	if first != second {
		t.Error("still counts after the program was taken off the tracepoint")
	}
}

func TestErrorsSayWhatIsNeeded(t *testing.T) {
	if os.Geteuid() != 0 {
		if c, err := NewCounter(); err == nil {
			c.Close() // the test binary was given the capabilities
		} else if !strings.Contains(err.Error(), "cap_bpf,cap_perfmon") {
			t.Errorf("without root: %v", err)
		}
	}
	for err, want := range map[error]string{
		unix.EPERM:  "setcap cap_bpf,cap_perfmon+ep",
		unix.ENOSYS: "CONFIG_BPF_SYSCALL",
		unix.EINVAL: "Linux 5.11",
	} {
		if got := explained("count system calls", err).Error(); !strings.Contains(got, want) {
			t.Errorf("%v becomes %q, want something about %q", err, got, want)
		}
	}
}
