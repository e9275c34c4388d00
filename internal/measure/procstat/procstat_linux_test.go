package procstat

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestParsePeakRSS(t *testing.T) {
	got, err := parsePeakRSS([]byte("Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t     123 kB\nVmRSS:\t 100 kB\n"))
	if err != nil || got != 123<<10 {
		t.Errorf("%d, %v; want %d", got, err, 123<<10)
	}
	if got, err := parsePeakRSS([]byte("Name:\tkthread\n")); err == nil {
		t.Errorf("a status without VmHWM gave %d", got)
	}
}

func TestParseCPUTime(t *testing.T) {
	got, err := parseCPUTime("cpu  100 20 30 4000 500 6 7 8 90 10")
	if want := (CPUTime{IOWait: 500, Total: 100 + 20 + 30 + 4000 + 500 + 6 + 7 + 8}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v, guest time not twice", got, err, want)
	}
	for _, line := range []string{"", "cpu", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 x 6 7 8"} {
		if got, err := parseCPUTime(line); err == nil {
			t.Errorf("%q gave %+v", line, got)
		}
	}
}

func TestParseRunDelay(t *testing.T) {
	if got, err := parseRunDelay("99348 63434 2\n"); err != nil || got != 63434 {
		t.Errorf("%d, %v; want 63434", got, err)
	}
	for _, s := range []string{"", "1 2", "1 x 3"} {
		if got, err := parseRunDelay(s); err == nil {
			t.Errorf("%q gave %v", s, got)
		}
	}
}

// The figures of this process are there, and go the right way.
func TestOwnFigures(t *testing.T) {
	peak, err := PeakRSS()
	if err != nil {
		t.Fatal(err)
	}
	if peak < 1<<20 || peak > 1<<36 {
		t.Errorf("a test binary with a peak of %d bytes", peak)
	}
	fill := make([]byte, 64<<20)
	for i := 0; i < len(fill); i += os.Getpagesize() {
		fill[i] = 1
	}
	runtime.KeepAlive(fill)
	debug.FreeOSMemory()
	if err := ResetPeakRSS(); err != nil {
		t.Fatal(err)
	}
	if again, err := PeakRSS(); err != nil || again > peak+32<<20 {
		t.Errorf("the peak is %d bytes after a reset; it was %d before 64 MiB were used and freed; %v", again, peak, err)
	}
	usage, err := SelfUsage()
	if err != nil {
		t.Fatal(err)
	}
	cpu, err := AllCPUTime()
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
	}
	fresh := make([]byte, 8<<20)
	for i := 0; i < len(fresh); i += os.Getpagesize() {
		fresh[i] = 1
	}
	runtime.KeepAlive(fresh)
	later, err := SelfUsage()
	if err != nil {
		t.Fatal(err)
	}
	if later.User+later.System <= usage.User+usage.System {
		t.Errorf("CPU time went from %v to %v in a busy loop", usage, later)
	}
	if later.MinorFaults <= usage.MinorFaults {
		t.Errorf("page faults went from %d to %d with 8 MiB touched", usage.MinorFaults, later.MinorFaults)
	}
	if after, err := AllCPUTime(); err != nil || after.Total <= cpu.Total {
		t.Errorf("CPU time of the machine went from %+v to %+v, %v", cpu, after, err)
	}
	delays, err := RunDelays()
	if err != nil {
		t.Skip(err)
	}
	if len(delays) < 2 {
		t.Errorf("%d threads in a Go program", len(delays))
	}
	if _, main := delays[os.Getpid()]; !main {
		t.Error("the main thread is not among the threads")
	}
}
