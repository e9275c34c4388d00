package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab/env"
	"github.com/stele-go/stele/lab/run"
)

// Options are the settings of Measure. The zero value measures in the current
// directory, with 20 rounds of 250 ms.
type Options struct {
	// Places are the directories to measure in, each by itself and all
	// interleaved. nil is the current directory.
	Places []PlaceSpec
	// Rounds is the most timed blocks of each variant; see FixedRounds. 0 is 20.
	Rounds int
	// BlockTime is the time a block should take. 0 is 250 ms.
	BlockTime time.Duration
	// Budget is the time that the whole run should take; 0 is no limit. All experiments
	// have their pilots first and then, the cheapest first, MinRounds. The time that is
	// left goes to those without a verdict. The run ends sooner where more rounds would
	// settle nothing, and takes up to 1.1 times its budget for MinRounds; an experiment
	// that has fewer then has run.Result.Cut. A small budget also lowers the operations
	// of a block.
	Budget time.Duration
	// FixedRounds runs all Rounds of each experiment, or what Budget has room for. Else
	// an experiment ends as soon as every comparison has a verdict, which run.Run.Look
	// decides after 6, 8, 11, 15, 20, ... rounds. Set it for runs that are to be compared
	// with other runs. Against implies it.
	FixedRounds bool
	// Seed of the order of the blocks, of their work and of the bootstrap. 0 draws
	// one, and run.Run.Seed has it.
	Seed uint64
	// Tolerance is the smallest difference that counts, as a share. 0 is 0.05.
	Tolerance float64
	// Test is "bootstrap", "welch" or "mannwhitney"; "" is "bootstrap". With the
	// other two the test must agree with the interval of the ratio before a variant
	// is called faster or slower.
	Test string
	// MixLevels compares variants that promise different things too, and
	// marks each such comparison.
	MixLevels bool
	// NoCalibration leaves out the A/A blocks and with them the noise floor.
	NoCalibration bool
	// NoCounting leaves out the blocks in which system calls are counted.
	NoCounting bool
	// Waits watches goroutines and threads in every experiment, not only in
	// those that ask for it: eight more blocks a variant.
	Waits bool
	// Trace attributes the time of every experiment: Waits, chains of waits (see
	// run.Chain), and three more blocks a variant in which the kernel times each
	// system call. It needs root; run.VariantTrace.Missing says which part is
	// missing and why.
	Trace bool
	// Against is the path of another program whose blocks are interleaved with those of
	// this one, in the same rounds: an older build of it, or any program that calls
	// RunBlock with the same experiments. Each variant that both have is measured from
	// both; Run.Gate judges the ratios, new to old. Run.Against names the variants that
	// one of the two lacks. The other program reads files of its own from B.Shared.
	Against string
	// InProcess runs the blocks in this process, for experiments that cannot run in
	// another one. Blocks then share a heap and the state of the page cache.
	InProcess bool
	// CPUs are the processors that the processes of the blocks run on, in ascending
	// order; nil is all that this process may use. Linux only. ParseCPUs makes a list.
	CPUs []int
	// Progress is called between blocks only, so that it does not disturb a
	// measurement.
	Progress func(Event)
	// Command is the command line of the program, noted in the Run.
	Command []string
	// Quick says that this is not the full set, noted in the Run.
	Quick bool
}

// MinRounds is the least number of rounds for a verdict. Six paired blocks
// are the fewest from which a two-sided signed-rank test can reach p < 0.05.
const MinRounds = 6

// A PlaceSpec is a directory to measure in, with the name it is shown by.
type PlaceSpec struct {
	Name string // empty is Dir
	Dir  string // must exist; blocks run in a private directory below it
	// Device, unless it is empty, is the block device that the blocks work on, in place of
	// files in Dir. The environment of the place is that of the device.
	Device string
	// Discarded says that the caller discards the whole file system after the
	// run. Files left in Dir then stay there: to remove them one by one can take
	// longer than the run.
	Discarded bool
}

// An Event is a step of a run, for a display of its progress.
type Event struct {
	Kind       string    `json:"event"` // "forecast", "pilot", "piloted" (all are), "block", "count", "waits", "trace", "done"
	Experiment string    `json:"experiment,omitempty"`
	Place      string    `json:"place,omitempty"`
	Variant    string    `json:"variant,omitempty"`
	Round      int       `json:"round"`  // from 1
	Rounds     int       `json:"rounds"` // foreseen at present; the verdict may be clear sooner
	Index      int       `json:"index"`  // of the experiment, from 1; 0 of the whole run
	Of         int       `json:"of"`     // experiments
	Elapsed    run.Nanos `json:"elapsed_ns"`
	Left       run.Nanos `json:"left_ns"` // estimated
	Share      float64   `json:"share"`   // of the whole run that is done, 0 to 1
}

// Measure runs the experiments in all places and returns the analysed run. When
// ctx is done it stops at once, ends its processes, removes its files and returns
// the blocks measured so far, marked Partial, with a nil error. Files that take longer to
// remove than a moment are left to a process in the background. An error means
// that nothing could be measured. A variant that fails is reported in its result
// and does not affect the others.
func Measure(ctx context.Context, o Options, experiments ...Experiment) (*run.Run, error) {
	o.Rounds = cmp.Or(o.Rounds, 20)
	o.BlockTime = cmp.Or(o.BlockTime, 250*time.Millisecond)
	o.Tolerance = cmp.Or(o.Tolerance, 0.05)
	o.Test = cmp.Or(o.Test, "bootstrap")
	if o.Seed == 0 {
		o.Seed = rand.Uint64()>>11 | 1 // fits a JSON number exactly
	}
	if len(o.Places) == 0 {
		o.Places = []PlaceSpec{{Dir: "."}}
	}
	if err := validate(o, experiments); err != nil {
		return nil, err
	}
	r := &runner{ctx: ctx, o: o, rng: rand.New(rand.NewPCG(o.Seed, 1)), start: time.Now()}
	r.run = &run.Run{
		Schema: run.Schema, Version: Version(), Build: build(), Command: o.Command, Started: r.start, Seed: o.Seed,
		Clock: measureClock(),
		Settings: run.Settings{
			Rounds: o.Rounds, BlockTime: run.Nanos(o.BlockTime), Budget: run.Nanos(o.Budget), Tolerance: o.Tolerance, Test: o.Test,
			MixLevels: o.MixLevels, InProcess: o.InProcess, Quick: o.Quick,
		},
	}
	if err := r.openAgainst(ctx, experiments); err != nil {
		return nil, err
	}
	defer r.closePlaces(ctx)
	if err := r.openPlaces(); err != nil {
		return nil, err
	}
	// The parent-death signal of a block's process and the counters that it
	// inherits belong to the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if len(o.CPUs) > 0 {
		unpin, err := pin(o.CPUs)
		if err != nil {
			return nil, err
		}
		defer unpin()
		r.notePinned(siblings(o.CPUs, cpuDir))
	}
	for i := range experiments {
		r.all = append(r.all, r.open(i, &experiments[i]))
	}
	r.measure(ctx)
	r.run.Duration = run.Nanos(time.Since(r.start))
	r.run.Analyse()
	r.tell(Event{Kind: "done"})
	return r.run, nil
}

// measure runs the experiments, and notes if that was interrupted.
func (r *runner) measure(ctx context.Context) {
	r.begun = time.Now()
	r.run.Forecast = &run.Forecast{Before: run.Nanos(r.left())}
	r.tell(Event{Kind: "forecast"})
	if r.o.Budget > 0 {
		r.withinBudget(ctx)
	} else {
		for _, u := range r.all {
			if ctx.Err() == nil {
				u.whole(ctx)
			}
		}
	}
	if ctx.Err() == nil {
		return
	}
	begun := 0
	for _, u := range r.all {
		u.interrupted()
		if u.tried {
			begun++
			continue
		}
		r.run.Results = slices.DeleteFunc(r.run.Results, func(res *run.Result) bool { return slices.Contains(u.results, res) })
	}
	r.run.Partial = &run.Partial{Cause: context.Cause(ctx).Error(), After: run.Nanos(time.Since(r.start)), Begun: begun, Of: len(r.all)}
}

func validate(o Options, experiments []Experiment) error {
	errs := make([]error, 0, len(experiments))
	seen := map[string]bool{}
	for i := range experiments {
		e := &experiments[i]
		errs = append(errs, e.Validate())
		if seen[e.ID()] {
			errs = append(errs, fmt.Errorf("lab: experiment %s: want each ID once", e.ID()))
		}
		seen[e.ID()] = true
	}
	if len(experiments) == 0 {
		errs = append(errs, errors.New("lab: Measure: no experiments; want one or more"))
	}
	settings := run.Settings{Test: o.Test, Tolerance: o.Tolerance}
	errs = append(errs, cmp.Or(
		setting.AtLeast("lab: Options.Rounds", o.Rounds, 1),
		setting.InRange("lab: Options.BlockTime", o.BlockTime, time.Millisecond, time.Hour),
		settings.Validate(),
		checkCPUs(o),
	))
	return errors.Join(errs...)
}

// runner is the state of one Measure.
type runner struct {
	o       Options
	rng     *rand.Rand
	run     *run.Run
	ctx     context.Context // of Measure: done when the run is interrupted
	start   time.Time
	begun   time.Time // with the first pilot: the budget counts from here
	places  []openPlace
	against *against       // the other program; nil without Options.Against
	all     []*measurement // one an experiment
}

// An openPlace is a PlaceSpec with a private directory in it.
type openPlace struct {
	name  string
	dir   string // private, removed at the end unless it is discarded
	close func() error
	n     int // blocks so far, for their directories' names
}

func (r *runner) openPlaces() error {
	seen := map[string]bool{}
	for _, p := range r.o.Places {
		name := cmp.Or(p.Name, p.Dir)
		if seen[name] {
			return setting.Wrong("lab: Options.Places", name, "each name once")
		}
		seen[name] = true
		abs, err := filepath.Abs(p.Dir)
		if err != nil {
			return fmt.Errorf("lab: measure in %s: %w", p.Dir, err)
		}
		if st, err := os.Stat(abs); err != nil {
			return fmt.Errorf("lab: measure in %s: %w", p.Dir, err)
		} else if !st.IsDir() {
			return setting.Wrong("lab: PlaceSpec.Dir", abs, "a directory, not a file")
		}
		pl, err := scratch.Dir(abs)
		if err != nil {
			return fmt.Errorf("lab: make a private directory in %s: %w", abs, err)
		}
		closing := pl.Close
		if p.Discarded {
			closing = func() error { pl.Leave(); return nil }
		}
		r.places = append(r.places, openPlace{name: name, dir: pl.Path, close: closing})
		r.run.Places = append(r.run.Places, run.Place{Name: name, Environment: p.environment(abs, name)})
	}
	return nil
}

// environment is that of the place of that name, whose directory is abs.
func (p PlaceSpec) environment(abs, name string) run.Environment {
	if p.Device != "" {
		return env.ReadDevice(p.Device)
	}
	e := env.Read(abs)
	if name == e.FS { // a tmpfs that was asked for by its name is no surprise
		e.Warnings = slices.DeleteFunc(e.Warnings, func(w run.Warning) bool { return w.Code == run.WarnTmpfs })
	}
	return e
}

// closePlaces removes the private directories. One that could not be removed is
// noted in Run.Left: the figures are good all the same.
func (r *runner) closePlaces(ctx context.Context) {
	for _, p := range r.places {
		closing := p.close
		if ctx.Err() != nil && !r.o.InProcess {
			closing = func() error { return p.closeSoon(patience) }
		}
		if err := closing(); err != nil {
			r.run.Left = append(r.run.Left, run.LeftDir{Dir: p.dir, Error: err.Error()})
		}
	}
}

// tell tells of an event of the experiment.
func (u *measurement) tell(e Event) {
	e.Index, e.Rounds = u.index+1, u.planned
	u.runner.tell(e)
}

func (r *runner) tell(e Event) {
	if r.o.Progress == nil {
		return
	}
	e.Of = len(r.all)
	e.Elapsed = run.Nanos(time.Since(r.start))
	e.Left = run.Nanos(r.left())
	if e.Kind == "done" {
		e.Left = 0
	}
	e.Share = 1
	if e.Left > 0 {
		e.Share = float64(e.Elapsed) / float64(e.Elapsed+e.Left)
	}
	r.o.Progress(e)
}
