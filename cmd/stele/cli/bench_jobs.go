package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/cmdjob"
	"github.com/stele-go/stele/suites/iojob"
)

// describedExperiments returns the experiments that the command line described, in
// the process of a block: it has them from its environment.
func describedExperiments() ([]lab.Experiment, error) {
	var all []lab.Experiment
	for _, from := range []func() (lab.Experiment, bool, error){iojob.FromEnv, cmdjob.FromEnv} {
		e, ok, err := from()
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, e)
		}
	}
	return all, nil
}

// jobFlags are the flags that bench io and bench cmd share with bench.
var jobFlags = []string{
	"dir", "fs", "image-size", "volume", "rounds", "fixed-rounds", "budget", "cpus", "seed", "progress", "no-calibration", "no-counting",
	"details", "tolerance", "test", "mix-levels", "json", "summary", "gobench", "markdown", "html",
}

// take adds those of the flags of bench to f that it names.
func (b *benchFlags) take(f *pflag.FlagSet, names ...string) {
	all := newFlags("stele bench", "")
	b.flags(all)
	for _, name := range names {
		f.AddFlag(all.Lookup(name))
	}
	f.Lookup("budget").Usage = "end within about this `TIME`: six rounds, then more where they settle most; blocks are made shorter if need be"
}

// jobBlock is the time of a block of a job without --time.
const jobBlock = 250 * time.Millisecond

// timeFlag adds --time, whose default is so much that a block takes jobBlock.
func (d *described) timeFlag(f *pflag.FlagSet, usage string) {
	f.DurationVar(&d.time, "time", 0, usage+" (default 5s for 20 rounds: 250ms a block)")
}

// A described is an experiment that the command line described.
type described struct {
	name  string // of the command: "stele bench io"
	args  []string
	flags *benchFlags
	time  time.Duration // of all blocks of a variant; 0 is jobBlock for each
	// wrong and failure are the exit codes of a wrong call and of a failure: benchCodes.
	wrong, failure int
	// prepare makes the experiment for the places. cleanup is called in any case.
	prepare func(ctx context.Context, places []lab.PlaceSpec, show *meter) (e lab.Experiment, cleanup func() error, err error)
	// after may add to the run, and writes figures above the report.
	after func(measured *run.Run, w io.Writer)
}

// newDescribed returns the command of that name, "stele bench io", called with args.
func newDescribed(name string, args []string, flags *benchFlags) *described {
	flags.Name = name
	d := &described{name: name, args: append(strings.Fields(name), args...), flags: flags}
	d.wrong, d.failure = benchCodes(args)
	return d
}

// check refuses wrong values of the shared flags of f. It reports whether an output goes
// to standard output.
func (d *described) check(f *pflag.FlagSet) (toStdout bool, err error) {
	if toStdout, err = checkOutputs(d.flags.outputs.all()...); err != nil {
		return toStdout, err
	}
	if err := d.flags.analysis.check(); err != nil {
		return toStdout, err
	}
	d.flags.blockTime = jobBlock
	if f.Changed("time") {
		if err := setting.AtLeast("--time", d.time, 20*time.Millisecond); err != nil {
			return toStdout, err
		}
		d.flags.blockTime = max(d.time/time.Duration(max(d.flags.rounds, 1)), time.Millisecond)
	}
	return toStdout, d.flags.check()
}

// run measures and reports, and returns the exit code.
func (d *described) run(ctx context.Context, toStdout bool, stdout, stderr io.Writer) int {
	b := d.flags
	show, err := newMeter(b.progress, stderr)
	if err != nil {
		return usageError(stderr, d.name, d.wrong, err)
	}
	places, closePlaces, err := b.places(ctx, stderr)
	defer closePlaces()
	if err != nil {
		complain(stderr, d.name, err)
		return d.failure
	}
	e, cleanup, err := d.prepare(ctx, places, show)
	defer func() {
		if err := cleanup(); err != nil {
			complain(stderr, d.name, err)
		}
	}()
	if err != nil {
		show.end()
		complain(stderr, d.name, err)
		if ctx.Err() != nil {
			return exitInterrupted
		}
		return d.failure
	}
	measured, err := b.measure(ctx, show, places, d.args, false, e)
	if err != nil {
		complain(stderr, d.name, err)
		return d.failure
	}
	b.noteVolume(measured)
	if hasData(measured) {
		text := stdout
		if toStdout {
			text = stderr
		}
		d.after(measured, text)
	}
	return b.finish(measured, selection{}, toStdout, stdout, stderr)
}

// survivesHere words what the place leaves of the promise of a variant; the report has
// the reason.
func survivesHere(v *run.VariantResult) string {
	if len(v.Capped) > 0 {
		return v.Here.Survives() + " here"
	}
	return v.Promise.Survives()
}

// noCleanup is the cleanup of a prepare that made nothing.
func noCleanup() error { return nil }

// joinCleanups returns a function that calls all, the last one first.
func joinCleanups(all []func() error) func() error {
	return func() error {
		var errs []error
		for i := len(all) - 1; i >= 0; i-- {
			errs = append(errs, all[i]())
		}
		return errors.Join(errs...)
	}
}
