package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/measure/perf"
	"github.com/stele-go/stele/lab/run"
)

// measured is what the helpers print.
type measured struct {
	Values   map[string]float64
	Missing  map[string]run.Reason
	Syscalls map[string]int64
}

const (
	helperDirs   = 1000
	helperFaults = 1000
)

// The directories are made by the workers of b.Parallel, so by many threads.
var _ = addHelper("mkdir", func() {
	dir, err := os.MkdirTemp(os.Getenv("STELE_LAB_TEST_DIR"), "")
	if err != nil {
		panic(err)
	}
	names := make([]string, helperDirs)
	for i := range names {
		names[i] = filepath.Join(dir, strconv.Itoa(i))
	}
	b := emptyBlock(helperDirs, 1)
	b.meter = newMeter(dir)
	err = b.Parallel(4, func(w *Worker) error {
		for w.Loop() {
			if err := os.Mkdir(names[int64(w.ID)*helperDirs/4+w.I()], 0o777); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	printMeasured(b)
})

// Pages are touched for the first time in four threads of their own.
var _ = addHelper("faults", func() {
	b := emptyBlock(helperFaults, 1)
	b.meter = newMeter(os.TempDir())
	stride := os.Getpagesize()
	b.Parallel(4, func(w *Worker) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		fresh := make([]byte, helperFaults/4*stride) // zeroed by the kernel, page by page
		for w.Loop() {
			fresh[int(w.I())*stride] = 1
		}
		return nil
	})
	printMeasured(b)
})

func printMeasured(b *B) {
	var m measured
	m.Values, m.Missing, m.Syscalls = b.meter.results(b.N)
	if err := json.NewEncoder(os.Stdout).Encode(m); err != nil {
		panic(err)
	}
}

// runHelper runs a helper as the runner runs a block.
func runHelper(t *testing.T, name, role string, events []hardwareEvent) measured {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), helperEnv+"="+name, "STELE_LAB_TEST_DIR="+t.TempDir())
	var out, diag strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &diag
	counters := openCounters(role, events)
	defer counters.close()
	if err := counters.start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("helper %s: %v\n%s", name, err, diag.String())
	}
	var m measured
	if err := json.Unmarshal([]byte(out.String()), &m); err != nil {
		t.Fatalf("helper %s printed %q: %v", name, out.String(), err)
	}
	return m
}

// A counted block knows each of its system calls, from all its threads, and
// not one of the meter's.
func TestCountedBlockIsExact(t *testing.T) {
	oneOfSome(t, func() error { // Go's scheduler may wake its poller, by a write and a read
		m := runHelper(t, "mkdir", run.RoleCounted, hardwareEvents)
		everyMetric(t, m.Values, m.Missing)
		if why := m.Missing[run.MetricSyscalls]; why != (run.Reason{}) {
			if os.Geteuid() == 0 && why.Code == run.ReasonNoProcess {
				t.Fatalf("%+v", why)
			}
			t.Skipf("%+v", why)
		}
		if why := m.Missing["cache_misses_per_op"]; why.Code != run.ReasonCounting {
			t.Errorf("cache misses of a counted block: %+v", why)
		}
		if n := m.Syscalls["mkdirat"]; n != helperDirs {
			t.Errorf("%d mkdirat, want exactly %d", n, helperDirs)
		}
		var own int64
		var odd []string
		for name, n := range m.Syscalls {
			if run.RuntimeSyscall(name) {
				continue
			}
			own += n
			if name != "mkdirat" && name != "mmap" && name != "munmap" { // for the heap
				odd = append(odd, fmt.Sprintf("%d %s, which the helper does not call", n, name))
			}
		}
		if got := m.Values[run.MetricSyscalls]; got != float64(own)/helperDirs || got < 1 {
			t.Errorf("%v system calls an operation, want %v: %v", got, float64(own)/helperDirs, m.Syscalls)
		} else if got > 1.05 {
			odd = append(odd, fmt.Sprintf("%v system calls an operation, want 1 or hardly more: %v", got, m.Syscalls))
		}
		if len(odd) > 0 {
			return errors.New(strings.Join(odd, "; "))
		}
		return nil
	})
}

// A timed block does not count system calls, and says so.
func TestTimedBlockDoesNotCountSyscalls(t *testing.T) {
	m := runHelper(t, "mkdir", run.RoleTimed, hardwareEvents)
	everyMetric(t, m.Values, m.Missing)
	if m.Syscalls != nil || m.Missing[run.MetricSyscalls].Code != run.ReasonNotCounting {
		t.Errorf("system calls of a timed block: %v, missing %+v", m.Syscalls, m.Missing[run.MetricSyscalls])
	}
	if n, there := m.Values["cache_misses_per_op"]; there && n <= 0 {
		t.Errorf("%v cache misses an operation", n)
	}
	if n, there := m.Values["instructions_per_op"]; there && n < 100 {
		t.Errorf("%v instructions to make a directory", n)
	}
}

// Hardware counters are not there on every machine. Page faults, counted by
// the kernel, take the same way through fork, exec and threads, and getrusage
// knows how many there were.
func TestInheritedCounters(t *testing.T) {
	events := []hardwareEvent{{"page_faults", perf.PageFaults}}
	oneOfSome(t, func() error { // the two are read one after the other
		m := runHelper(t, "faults", run.RoleTimed, events)
		if why, gone := m.Missing["page_faults"]; gone {
			if runtime.GOOS == "linux" && os.Geteuid() == 0 && !strings.Contains(why.Text, "not allowed") {
				t.Fatalf("%+v", why)
			}
			t.Skipf("%+v", why)
		}
		got := m.Values["page_faults"] * helperFaults
		want := (m.Values["minor_faults_per_op"] + m.Values["major_faults_per_op"]) * helperFaults
		if want < 4 || got < want-8 || got > want+8 {
			return fmt.Errorf("%v page faults by the inherited counter, %v by getrusage", got, want)
		}
		return nil
	})
}

func TestHandover(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		c := countersFromEnv()
		if c.missing[run.MetricSyscalls].Code != run.ReasonNoProcess {
			t.Errorf("missing %v", c.missing)
		}
	})
	t.Run("damaged", func(t *testing.T) {
		t.Setenv(countersEnv, "{")
		c := countersFromEnv()
		if !strings.Contains(c.missing["cache_misses_per_op"].Text, countersEnv) {
			t.Errorf("missing %v", c.missing)
		}
		if _, still := os.LookupEnv(countersEnv); still {
			t.Error("the variable is left to processes of the variant's")
		}
	})
	t.Run("descriptors follow those of the command", func(t *testing.T) {
		c := openCounters(run.RoleTimed, nil)
		defer c.close()
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		c.files = []*os.File{f}
		c.give.FDs["x"] = 0
		cmd := exec.Command(filepath.Join(t.TempDir(), "not there"))
		cmd.ExtraFiles = []*os.File{os.Stdin}
		if err := c.start(cmd); err == nil {
			t.Fatal("started a program that is not there")
		}
		env := strings.Join(cmd.Env, "\n")
		if !strings.Contains(env, `"x":4`) || len(cmd.ExtraFiles) != 2 {
			t.Errorf("handed over %d files and %s", len(cmd.ExtraFiles), env)
		}
	})
}

func TestStillGODEBUG(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{nil, "updatemaxprocs=0"},
		{[]string{"GODEBUG="}, "updatemaxprocs=0"},
		{[]string{"GODEBUG=madvdontneed=1", "X=1", "GODEBUG=gctrace=1"}, "gctrace=1,updatemaxprocs=0"},
	} {
		if got := stillGODEBUG(c.env); got != c.want {
			t.Errorf("of %q: %q, want %q", c.env, got, c.want)
		}
	}
}

func TestRuntimeSyscalls(t *testing.T) {
	for _, own := range []string{"mkdirat", "openat", "fsync", "mmap", "epoll_ctl", "read", "write", "close", "newfstatat"} {
		if run.RuntimeSyscall(own) {
			t.Errorf("%s is a variant's call, not the runtime's", own)
		}
	}
	for _, noise := range []string{"futex", "tgkill", "rt_sigreturn", "madvise", "sched_yield", "epoll_pwait", "nanosleep"} {
		if !run.RuntimeSyscall(noise) {
			t.Errorf("%s is the runtime's call", noise)
		}
	}
}
