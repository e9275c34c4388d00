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
	// Rounds is the number of timed blocks of each variant. 0 is 20.
	Rounds int
	// BlockTime is the time a block should take. 0 is 250 ms.
	BlockTime time.Duration
	// Budget lowers Rounds so that one experiment in all places takes about that
	// long; 0 is no budget. Time that an experiment saves or overdraws is shared by
	// those after it. Fewer than MinRounds are run only where the whole run would
	// otherwise take more than 1.4 times its budget; run.Result.Cut is set then.
	Budget time.Duration
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
	// Discarded says that the caller discards the whole file system after the
	// run. Files left in Dir then stay there: to remove them one by one can take
	// longer than the run.
	Discarded bool
}

// An Event is a step of a run, for a display of its progress.
type Event struct {
	Kind       string    `json:"event"` // "pilot", "block", "count", "waits", "trace", "done"
	Experiment string    `json:"experiment"`
	Place      string    `json:"place"`
	Variant    string    `json:"variant,omitempty"`
	Round      int       `json:"round"`  // from 1
	Rounds     int       `json:"rounds"` //
	Index      int       `json:"index"`  // of the experiment, from 1
	Of         int       `json:"of"`     // experiments
	Elapsed    run.Nanos `json:"elapsed_ns"`
	Left       run.Nanos `json:"left_ns"` // estimated; 0 while unknown
	Share      float64   `json:"share"`   // of the whole run that is done, 0 to 1
}

// Measure runs the experiments in all places and returns the analysed run. When
// ctx is done it stops at once, ends its processes, removes its files and returns
// the blocks measured so far, marked Partial, with a nil error. An error means
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
	r := &runner{o: o, rng: rand.New(rand.NewPCG(o.Seed, 1)), start: time.Now(), total: len(experiments)}
	r.run = &run.Run{
		Schema: run.Schema, Version: Version(), Build: build(), Command: o.Command, Started: r.start, Seed: o.Seed,
		Clock: measureClock(),
		Settings: run.Settings{
			Rounds: o.Rounds, BlockTime: run.Nanos(o.BlockTime), Tolerance: o.Tolerance, Test: o.Test,
			MixLevels: o.MixLevels, InProcess: o.InProcess, Quick: o.Quick,
		},
	}
	if err := r.openAgainst(ctx, experiments); err != nil {
		return nil, err
	}
	defer r.closePlaces()
	if err := r.openPlaces(); err != nil {
		return nil, err
	}
	// The parent-death signal of a block's process and the counters that it
	// inherits belong to the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := range experiments {
		if ctx.Err() != nil {
			break
		}
		r.index = i
		r.experiment(ctx, &experiments[i])
	}
	if ctx.Err() != nil {
		r.run.Partial = &run.Partial{Cause: context.Cause(ctx).Error(), After: run.Nanos(time.Since(r.start)), Begun: r.index + 1, Of: r.total}
	}
	r.run.Duration = run.Nanos(time.Since(r.start))
	r.run.Analyse()
	r.tell(Event{Kind: "done"})
	return r.run, nil
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
	))
	return errors.Join(errs...)
}

// runner is the state of one Measure.
type runner struct {
	o       Options
	rng     *rand.Rand
	run     *run.Run
	start   time.Time
	places  []openPlace
	against *against // the other program; nil without Options.Against
	index   int      // of the current experiment
	total   int

	costs  costs
	rounds int           // of the current experiment
	share  time.Duration // its part of the budget
	most   time.Duration // the most of the budget that it may take for MinRounds
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
		e := env.Read(abs)
		if name == e.FS { // a tmpfs that was asked for by its name is no surprise
			e.Warnings = slices.DeleteFunc(e.Warnings, func(w run.Warning) bool { return w.Code == run.WarnTmpfs })
		}
		r.run.Places = append(r.run.Places, run.Place{Name: name, Environment: e})
	}
	return nil
}

// closePlaces removes the private directories. One that could not be removed is
// noted in Run.Left: the figures are good all the same.
func (r *runner) closePlaces() {
	for _, p := range r.places {
		if err := p.close(); err != nil {
			r.run.Left = append(r.run.Left, run.LeftDir{Dir: p.dir, Error: err.Error()})
		}
	}
}

func (r *runner) tell(e Event) {
	if r.o.Progress == nil {
		return
	}
	e.Index, e.Of, e.Rounds = r.index+1, r.total, r.rounds
	e.Elapsed = run.Nanos(time.Since(r.start))
	left := r.costs.left(r.total-r.index-1, r.o.Budget)
	e.Left = run.Nanos(left)
	if r.costs.plan > 0 {
		e.Share = float64(e.Elapsed) / float64(time.Duration(e.Elapsed)+left)
	}
	if e.Kind == "done" {
		e.Left, e.Share = 0, 1
	}
	r.o.Progress(e)
}
