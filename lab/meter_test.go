package lab

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/lab/run"
)

// everyMetric fails unless each metric of the lab's is in exactly one of the
// two maps, and none else is in either.
func everyMetric(t *testing.T, values map[string]float64, missing map[string]run.Reason) {
	t.Helper()
	known := 0
	for _, m := range run.Metrics() {
		if m.Name == "bytes_per_second" { // the variant's own
			continue
		}
		_, there := values[m.Name]
		why, gone := missing[m.Name]
		switch {
		case there == gone:
			t.Errorf("%s: in the values %v, among the missing %v", m.Name, there, gone)
		case gone && why == (run.Reason{}):
			t.Errorf("%s is missing without a reason", m.Name)
		}
		known++
	}
	if got := len(values) + len(missing); got != known {
		t.Errorf("%d figures, want the %d of Metrics: %v %v", got, known, values, missing)
	}
}

func TestMeterIsComplete(t *testing.T) {
	var zero meter
	zero.begin()
	zero.end()
	unused := newMeter(t.TempDir())
	done := newMeter(t.TempDir())
	done.begin()
	done.end()
	for name, c := range map[string]struct {
		m   meter
		ops int64
		any bool // has figures
	}{
		"zero meter":   {zero, 1, false},
		"no end":       {unused, 1, false},
		"no operation": {done, 0, false},
		"done":         {done, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			values, missing, syscalls := c.m.results(c.ops)
			everyMetric(t, values, missing)
			if got := len(values) > 0; got != c.any {
				t.Errorf("has figures: %v, want %v: %v", got, c.any, values)
			}
			if syscalls != nil {
				t.Errorf("system calls in a process that does not count them: %v", syscalls)
			}
		})
	}
}

var sink []byte

// What was allocated between begin and end, to the last one, and nothing of
// the meter's own.
func TestMeterAllocationsAreExact(t *testing.T) {
	const ops, each = 1000, 256
	try := func() (allocs, bytes float64) {
		m := newMeter(t.TempDir())
		m.begin()
		for range ops {
			sink = make([]byte, each)
		}
		m.end()
		values, _, _ := m.results(ops)
		return values["allocs_per_op"], values["alloc_bytes_per_op"]
	}
	// Other goroutines of the test binary may allocate; of a few tries one
	// has the process for itself.
	var allocs, bytes float64
	for range 10 {
		if allocs, bytes = try(); allocs == 1 && bytes == each {
			return
		}
	}
	t.Errorf("%v allocations and %v bytes an operation, want 1 and %d", allocs, bytes, each)
}

func TestMeterCollections(t *testing.T) {
	m := newMeter(t.TempDir())
	m.begin()
	for range 3 {
		runtime.GC()
	}
	m.end()
	values, _, _ := m.results(1)
	if values["gc_count"] < 3 {
		t.Errorf("%v collections, want 3 at least", values["gc_count"])
	}
	if values["gc_pause_ns"] <= 0 {
		t.Errorf("%v ns of pauses in %v collections", values["gc_pause_ns"], values["gc_count"])
	}
}

func TestMeterCPU(t *testing.T) {
	used := func() time.Duration {
		u, err := procstat.SelfUsage()
		if err != nil {
			t.Skip(err)
		}
		return u.User + u.System
	}
	before := used()
	m := newMeter(t.TempDir())
	m.begin()
	begun := used()
	for used()-begun < 50*time.Millisecond { // a busy machine takes longer to give that
	}
	ended := used()
	m.end()
	after := used()
	values, _, _ := m.results(1)
	cpu := time.Duration(values["cpu_user_ns_per_op"] + values["cpu_sys_ns_per_op"])
	// The two parts are rounded to microseconds each, at both ends.
	if cpu < ended-begun-4*time.Microsecond || cpu > after-before+4*time.Microsecond {
		t.Errorf("%v of CPU time, want %v to %v", cpu, ended-begun, after-before)
	}
}

// A synced write shows on the device, or the reason why not is told.
func TestMeterDevice(t *testing.T) {
	dir := t.TempDir()
	m := newMeter(dir)
	m.begin()
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 1 << 20
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	m.end()
	values, missing, _ := m.results(1)
	if why := missing["device_writes_per_op"]; why != (run.Reason{}) {
		t.Skipf("%+v", why)
	}
	if values["device_write_bytes_per_op"] < size || values["device_writes_per_op"] < 1 {
		t.Errorf("1 MiB was written and synced; the device counted %v bytes in %v writes",
			values["device_write_bytes_per_op"], values["device_writes_per_op"])
	}
}

func TestRunDelay(t *testing.T) {
	at := func(d map[int]time.Duration) *reading { return &reading{delays: d} }
	// A new thread counts whole.
	got, why := runDelay(at(map[int]time.Duration{1: 10, 2: 20}), at(map[int]time.Duration{1: 15, 2: 20, 3: 7}))
	if why != (run.Reason{}) || got != 12 {
		t.Errorf("delay %d, missing %+v; want 12", got, why)
	}
	_, why = runDelay(at(map[int]time.Duration{1: 10, 2: 20}), at(map[int]time.Duration{1: 15}))
	if want := (run.Reason{Code: run.ReasonThreadsEnded, N: 1, Of: 2}); why != want {
		t.Errorf("a thread ended: %+v, want %+v", why, want)
	}
	if _, why = runDelay(&reading{noDelays: errors.New("no schedstat")}, at(nil)); why.Text != "no schedstat" {
		t.Errorf("no reading before the block: %+v", why)
	}
}

func TestIOWaitShare(t *testing.T) {
	at := func(wait, total int64) *reading { return &reading{cpu: procstat.CPUTime{IOWait: wait, Total: total}} }
	if got, why := iowaitShare(at(5, 100), at(30, 200)); why != (run.Reason{}) || got != 0.25 {
		t.Errorf("share %v, missing %+v; want 0.25", got, why)
	}
	for name, r := range map[string][2]*reading{
		"too short":       {at(5, 100), at(6, 119)},
		"backwards":       {at(5, 100), at(4, 200)},
		"nothing to read": {{noCPU: errors.New("no /proc")}, at(5, 100)},
	} {
		if got, why := iowaitShare(r[0], r[1]); why == (run.Reason{}) {
			t.Errorf("%s: share %v, want a reason", name, got)
		}
	}
}

// Goroutines that had to wait for a processor are in the percentile; a few
// of them are refused.
func TestSchedulerLatency(t *testing.T) {
	yield := func(n int) (map[string]float64, map[string]run.Reason) {
		m := newMeter(t.TempDir())
		m.begin()
		done := make(chan struct{})
		for range 8 {
			go func() {
				for range n {
					runtime.Gosched()
				}
				done <- struct{}{}
			}()
		}
		for range 8 {
			<-done
		}
		m.end()
		values, missing, _ := m.results(1)
		return values, missing
	}
	values, missing := yield(20_000)
	if p99 := values["sched_latency_p99_ns"]; p99 <= 0 || p99 > 10e9 || math.IsNaN(p99) {
		t.Errorf("p99 of %v ns (%+v)", p99, missing["sched_latency_p99_ns"])
	}
	if values, missing = yield(1); missing["sched_latency_p99_ns"].Of != 299 {
		t.Errorf("16 waits at most: p99 %v, missing %+v", values["sched_latency_p99_ns"], missing["sched_latency_p99_ns"])
	}
}
