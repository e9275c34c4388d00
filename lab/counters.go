package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/stele-go/stele/internal/measure/perf"
	"github.com/stele-go/stele/internal/measure/systrace"
	"github.com/stele-go/stele/lab/internal/calls"
	"github.com/stele-go/stele/lab/run"
)

// countersEnv hands the counters over to the process of a block.
const countersEnv = "STELE_COUNTERS"

// hardwareEvents are the metrics that the processor counts.
var hardwareEvents = []hardwareEvent{
	{"cache_misses_per_op", perf.CacheMisses},
	{"instructions_per_op", perf.Instructions},
}

type hardwareEvent struct {
	metric string
	event  perf.Event
}

// handover is the value of countersEnv.
type handover struct {
	Syscalls bool                  `json:"syscalls"`
	FDs      map[string]int        `json:"fds,omitempty"`     // by metric
	Missing  map[string]run.Reason `json:"missing,omitempty"` // by metric
}

// counterSet is the kernel's counters for the process of a block, on the
// parent's side. System calls are counted in blocks of role counted, which
// that slows, and hardware events in all others.
type counterSet struct {
	files []*os.File
	give  handover
}

// openCounters opens the counters of a block of that role. One that the machine
// does not offer is no error: the block reports it as missing.
//
// Hardware counters are inherited from the thread that starts the process,
// so openCounters locks the goroutine to its thread until close.
func openCounters(role string, events []hardwareEvent) *counterSet {
	runtime.LockOSThread()
	c := &counterSet{give: handover{
		Syscalls: role == run.RoleCounted, FDs: map[string]int{}, Missing: map[string]run.Reason{},
	}}
	for _, e := range events {
		if c.give.Syscalls {
			c.give.Missing[e.metric] = run.Reason{Code: run.ReasonCounting}
			continue
		}
		f, err := perf.Open(e.event)
		if err != nil {
			c.give.Missing[e.metric] = run.ReasonOf(err)
			continue
		}
		c.give.FDs[e.metric] = len(c.files) // of ExtraFiles, until start knows the first
		c.files = append(c.files, f)
	}
	return c
}

// start starts cmd with the counters. It must run on the goroutine of
// openCounters.
func (c *counterSet) start(cmd *exec.Cmd) error {
	first := 3 + len(cmd.ExtraFiles) // after standard input, output and error
	for metric := range c.give.FDs {
		c.give.FDs[metric] += first
	}
	text, err := json.Marshal(c.give)
	if err != nil {
		return err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, c.files...)
	cmd.Env = append(cmd.Environ(), countersEnv+"="+string(text))
	cmd.Env = append(cmd.Env, "GODEBUG="+stillGODEBUG(cmd.Env))
	return cmd.Start()
}

// stillGODEBUG is the GODEBUG of env, where GOMAXPROCS does not change while
// a block runs. The runtime else reads the CPU limit of its cgroup every
// second or so, by a pread64 that would be counted as the variant's.
func stillGODEBUG(env []string) string {
	const still = "updatemaxprocs=0"
	for _, e := range slices.Backward(env) { // the last one rules
		if set, found := strings.CutPrefix(e, "GODEBUG="); found && set != "" {
			return set + "," + still
		}
	}
	return still
}

// close gives up the parent's side. The counters live on in the process.
func (c *counterSet) close() {
	for _, f := range c.files {
		f.Close() // nothing was written
	}
	c.files = nil
	runtime.UnlockOSThread()
}

// blockCounters is the process's side of a counterSet.
type blockCounters struct {
	hardware []hardwareCounter
	syscalls *calls.Counter        // nil when not counted
	flags    *calls.SyncFlags      // nil when not counted, or refused
	missing  map[string]run.Reason // by metric
}

type hardwareCounter struct {
	metric string
	*perf.Counter
}

// countersFromEnv takes over the counters that the parent opened. It removes the
// variable from the environment, so that no process of the variant takes them over.
func countersFromEnv() blockCounters {
	var c blockCounters
	text, found := os.LookupEnv(countersEnv)
	if !found {
		c.missAll(run.Reason{Code: run.ReasonNoProcess})
		return c
	}
	os.Unsetenv(countersEnv)
	var take handover
	if err := json.Unmarshal([]byte(text), &take); err != nil {
		c.missAll(run.ReasonOf(fmt.Errorf("read %s: %w", countersEnv, err)))
		return c
	}
	c.missing = take.Missing
	if c.missing == nil {
		c.missing = map[string]run.Reason{}
	}
	for metric, fd := range take.FDs {
		c.hardware = append(c.hardware, hardwareCounter{metric, perf.NewCounter(fd)})
	}
	if !take.Syscalls {
		c.missing[run.MetricSyscalls] = run.Reason{Code: run.ReasonNotCounting}
		return c
	}
	var err error
	if c.syscalls, err = calls.NewCounter(); err != nil {
		c.missing[run.MetricSyscalls] = run.ReasonOf(err)
		return c
	}
	if flags, err := calls.NewSyncFlags(); err == nil { // else they are not known: see syncRequests
		c.flags = flags
	}
	return c
}

func (c *blockCounters) missAll(reason run.Reason) {
	c.missing = map[string]run.Reason{run.MetricSyscalls: reason}
	for _, e := range hardwareEvents {
		c.missing[e.metric] = reason
	}
}

// counterReading is one look at all of a block's counters. Filling it
// allocates nothing, and makes no system call that it would count.
type counterReading struct {
	hardware []uint64 // as blockCounters.hardware, and errs
	errs     []error
	syscalls calls.Counts
	flags    uint64 // calls that ask for a sync by a flag
}

func (c *blockCounters) newReading() counterReading {
	return counterReading{hardware: make([]uint64, len(c.hardware)), errs: make([]error, len(c.hardware))}
}

func (c *blockCounters) readHardware(into *counterReading) {
	for i := range c.hardware {
		into.hardware[i], into.errs[i] = c.hardware[i].Read()
	}
}

func (c *blockCounters) readSyscalls(into *counterReading) {
	if c.syscalls != nil {
		c.syscalls.Read(&into.syscalls)
	}
	if c.flags != nil {
		into.flags = c.flags.Read()
	}
}

// close stops counting.
func (c *blockCounters) close() {
	if c.syscalls != nil {
		c.syscalls.Close() // nothing was written
		c.syscalls = nil
	}
	if c.flags != nil {
		c.flags.Close() // as above; its last count is in a reading
	}
}

// hardwareBetween is the difference of two readings of counter i.
func hardwareBetween(before, after *counterReading, i int) (uint64, error) {
	if err := errors.Join(before.errs[i], after.errs[i]); err != nil {
		return 0, err
	}
	return after.hardware[i] - before.hardware[i], nil
}

// syscallsBetween is the difference of two readings, by name.
func syscallsBetween(before, after *counterReading) map[string]int64 {
	made := map[string]int64{}
	for number, n := range after.syscalls {
		if d := n - before.syscalls[number]; d > 0 {
			made[systrace.Name(number)] = int64(d)
		}
	}
	return made
}
