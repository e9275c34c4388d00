package states

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stele-go/stele/crashtest/states/internal/tree"
)

// A Fault is how a call fails.
type Fault string

const (
	// FailEIO: nothing is done, and the call returns EIO. Data that a failed
	// sync was to cover may be lost whatever later syncs return: the kernel has
	// marked the pages clean.
	FailEIO Fault = "EIO"
	// FailENOSPC: nothing is done, and the call returns ENOSPC.
	FailENOSPC Fault = "ENOSPC"
	// FailEINTR: nothing is done, and the call returns EINTR.
	FailEINTR Fault = "EINTR"
	// ShortWrite: a write takes the first half of its bytes and returns their
	// number.
	ShortWrite Fault = "short write"
)

var allFaults = []Fault{FailEIO, FailENOSPC, FailEINTR, ShortWrite}

// FaultOptions say which calls fail and what is checked then. The zero value
// makes each call fail in each way that it can, one at a time.
type FaultOptions struct {
	// Faults are the faults to try; nil is all. Each applies to those calls
	// whose manual page lists it.
	Faults []Fault
	// Persistent makes each later call that the fault applies to fail too, until
	// the work ends, like a disk that is full or broken. The default is one
	// call alone. EINTR is never persistent: a program may retry it for ever.
	Persistent bool
	// Only is the ID of a failure: just that run is made. It is valid for work
	// that always makes the same calls.
	Only string
	// Max is the largest number of runs, drawn by Seed; 0 is all.
	Max int
	// Seed draws the runs, and the crash states. 0 draws a seed.
	Seed uint64
	// Crash, unless nil, adds a crash anywhere after the fault: the check is called
	// with the crash states of each run.
	Crash *Options
	// Prepare is that of MountOptions, for FaultsMount. FaultsFS has its base.
	Prepare func(dir string) error
}

// A FaultReport is the result of FaultsFS or FaultsMount.
type FaultReport struct {
	Calls      int // calls of the work when none failed
	Runs       int // runs with a fault
	NotReached int // runs that did not reach the call: the work took another way
	States     int // crash states that were checked after a fault
	Seed       uint64
	Failed     int // runs that failed
	// Failures are the first, at most ten.
	Failures []FaultFailure
	// Broken is the reason why faults could not be tried, or nil.
	Broken error
}

// A FaultFailure is a run after which the check returned an error.
type FaultFailure struct {
	ID      string   // for FaultOptions.Only: "EIO@12"
	Fault   string   // "EIO at call 12 (sync conf.tmp)"
	WorkErr error    // error of the work
	Err     error    // error of the check
	State   *Failure // crash state after the run, if the check failed with one
}

// Err returns nil if no run failed. Otherwise it returns an error that reads like
// the report and wraps the errors of the check.
func (r FaultReport) Err() error {
	if r.Broken != nil {
		return r.Broken
	}
	if r.Failed == 0 {
		return nil
	}
	var errs []error
	for _, f := range r.Failures {
		errs = append(errs, f.Err)
	}
	return &stateError{text: r.String(), causes: errs}
}

// String returns the counts and the first failures.
func (r FaultReport) String() string {
	if r.Broken != nil {
		return r.Broken.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls, %d runs with a fault", r.Calls, r.Runs)
	if r.NotReached > 0 {
		fmt.Fprintf(&b, " (%d did not reach it)", r.NotReached)
	}
	if r.States > 0 {
		fmt.Fprintf(&b, ", %d crash states after it", r.States)
	}
	fmt.Fprintf(&b, ", %d failed", r.Failed)
	if r.Failed > 0 {
		fmt.Fprintf(&b, " (seed %d)", r.Seed)
	}
	for i, f := range r.Failures {
		if i == 3 {
			fmt.Fprintf(&b, "\n... and %d more", r.Failed-i)
			break
		}
		fmt.Fprintf(&b, "\n%v", f)
	}
	if len(r.Failures) > 0 {
		f, only := r.Failures[0], ""
		if f.State != nil {
			only = fmt.Sprintf(", Crash: &states.Options{Only: %q}", f.State.ID)
		}
		fmt.Fprintf(&b, "\nto run just the first of them: states.FaultOptions{Only: %q%s}", f.ID, only)
	}
	return b.String()
}

// String returns the fault, the error of the work and that of the check.
func (f FaultFailure) String() string {
	work := "the work returned no error"
	if f.WorkErr != nil {
		work = fmt.Sprintf("the work returned %q", f.WorkErr.Error())
	}
	if f.State != nil {
		return fmt.Sprintf("%s; %s; then a crash\n%v", f.Fault, work, f.State)
	}
	return fmt.Sprintf("%s; %s\n\t%v", f.Fault, work, f.Err)
}

// FaultsFS runs work on a copy of base, or on an empty file system if base is
// nil: once to count its calls, then once for each call and each way in which it
// can fail. After each run it calls check with the files that there are and the
// entries that were acknowledged; an error of check is a failure. An error of
// work is not: work may fail, but must not acknowledge what is not done.
func FaultsFS[T any](base *FS, o FaultOptions, work func(fsys *FS, ack func(entry T)) error, check func(fsys *FS, acked []T) error) FaultReport {
	run := func(p plan) faultRun {
		in := &tree.Injector{Plan: p.Plan}
		h, fsys, failed := recordFS(base, in, work)
		r := faultRun{calls: in.Calls, hits: in.Hits, work: failed}
		r.live = func() error { return check(fsys, h.ledger) }
		r.crash = func(so Options) Report { return h.CheckFS(so, check) }
		return r
	}
	return tryFaults(o, run)
}

// A faultRun is one run of the work.
type faultRun struct {
	calls  []tree.Call
	hits   int
	work   error
	live   func() error         // checks what is there
	crash  func(Options) Report // checks what crashes leave of it
	broken error
}

// tryFaults runs the work once for each fault.
func tryFaults(o FaultOptions, run func(plan) faultRun) (r FaultReport) {
	if r.Seed = o.Seed; r.Seed == 0 {
		r.Seed = rand.Uint64()
	}
	first := run(plan{})
	err := errors.Join(first.broken, first.work)
	if err == nil {
		err = first.live()
	}
	if err != nil {
		r.Broken = fmt.Errorf("states: run without a fault: %w", err)
		return r
	}
	r.Calls = len(first.calls)
	tries := plans(o, first.calls, r.Seed)
	if o.Only != "" && len(tries) == 0 {
		r.Broken = fmt.Errorf("states: FaultOptions.Only: %q is not the ID of a fault of this work, which made %d calls", o.Only, r.Calls)
		return r
	}
	for _, p := range tries {
		r.Runs++
		if r.check(o, p, run(p)); r.Broken != nil {
			break
		}
	}
	return r
}

// check checks what a run with the fault of p left, and what crashes leave of it.
func (r *FaultReport) check(o FaultOptions, p plan, run faultRun) {
	if run.broken != nil {
		r.Broken = fmt.Errorf("%v: %w", p, run.broken)
		return
	}
	if run.hits == 0 {
		r.NotReached++
	}
	f := FaultFailure{ID: p.id(), Fault: p.String(), WorkErr: run.work, Err: run.live()}
	if errors.Is(f.Err, errNotMade) {
		r.Broken = f.Err
		return
	}
	if f.Err == nil && o.Crash != nil {
		so := *o.Crash
		if so.Seed == 0 {
			so.Seed = r.Seed
		}
		states := run.crash(so)
		r.States += states.Checked
		if r.Broken = states.Broken; r.Broken != nil {
			return
		}
		if len(states.Failures) > 0 {
			f.State, f.Err = &states.Failures[0], states.Failures[0].Err
		}
	}
	if f.Err != nil {
		if r.Failed++; len(r.Failures) < 10 {
			r.Failures = append(r.Failures, f)
		}
	}
}

// A plan says which call is to fail, and how.
type plan struct {
	tree.Plan
	call tree.Call // as counted in the run without a fault
}

func (p plan) id() string { return fmt.Sprintf("%s@%d", p.Fault, p.At) }

func (p plan) String() string {
	s := fmt.Sprintf("%s at call %d (%v)", p.Fault, p.At, p.call)
	if p.Persistent {
		s += " and after it"
	}
	return s
}

// plans returns the faults to try, in the order of the calls.
func plans(o FaultOptions, calls []tree.Call, seed uint64) []plan {
	var all []plan
	for i, c := range calls {
		for _, fault := range allFaults {
			p := plan{tree.Plan{Fault: string(fault), At: i, Persistent: o.Persistent}, c}
			wanted := o.Only == "" && (o.Faults == nil || slices.Contains(o.Faults, fault)) && !(o.Persistent && fault == FailEINTR) || o.Only == p.id()
			if wanted && slices.Contains(tree.FaultsOf[c.Name], p.Fault) {
				all = append(all, p)
			}
		}
	}
	if o.Max <= 0 || len(all) <= o.Max {
		return all
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:o.Max]
	slices.SortStableFunc(all, func(a, b plan) int { return a.At - b.At })
	return all
}
