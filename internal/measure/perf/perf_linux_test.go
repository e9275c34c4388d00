package perf

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Whatever keeps a counter away, the error says what to change.
func TestPerfErrors(t *testing.T) {
	for err, want := range map[error]string{
		unix.ENOENT:     "no such counter",
		unix.EOPNOTSUPP: "no such counter",
		unix.EACCES:     "perf_event_paranoid is ",
		unix.EPERM:      "perf_event_paranoid is ",
		unix.ENOSYS:     "CONFIG_PERF_EVENTS",
		unix.EMFILE:     "too many open files",
	} {
		if got := OpenError(err).Error(); !strings.Contains(got, want) {
			t.Errorf("%v becomes %q, want something about %q", err, got, want)
		}
	}
}

// A counter that cannot be read says so; it never counts nothing.
func TestPerfCounterRefuses(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := NewCounter(int(f.Fd())).Read(); err == nil {
		t.Errorf("an empty reading gave %d", n)
	}
	if n, err := NewCounter(-1).Read(); err == nil {
		t.Errorf("no descriptor gave %d", n)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	multiplexed := make([]byte, 24) // value, enabled, running
	multiplexed[0], multiplexed[8], multiplexed[16] = 7, 100, 50
	if _, err := w.Write(multiplexed); err != nil {
		t.Fatal(err)
	}
	if n, err := NewCounter(int(r.Fd())).Read(); err == nil || !strings.Contains(err.Error(), "50 %") {
		t.Errorf("a counter that ran half of the time gave %d, %v", n, err)
	}
}
