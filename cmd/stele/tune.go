package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/place"
	"github.com/stele-go/stele/profile"
	"github.com/stele-go/stele/suites"
)

const tuneUsage = `Usage: stele tune [DIR] [flags]

Finds out which settings of Stele's packages suit the disk under DIR (default
the current folder), prints each with the figures behind it, and writes them to
DIR/` + profile.FileName + `, a profile that wal and fileio load:

  p, err := profile.Load("/data")
  l, err := wal.Open("/data/log", wal.Options{Profile: p})

It measures as bench does, in a temporary folder below DIR, and needs no root.
All that is compared survives the same. A default is given up only for what is
shown to be faster at one load at least and slower at none; "same" and "cannot
tell" keep it. What a log does depends most on how many append at once: say so
if you know. An image of a file system, or another disk, needs its own profile.

Ctrl-C prints what was found, and leaves the profile that was there as it was.

Examples:
  stele tune /tmp
  stele tune . --appenders 64 --only wal,write
  stele tune . --out disk.json --json run.json
  stele tune --dry-run --budget 5m
  stele tune --list

Exit codes: 0 done, 1 something could not be measured, 2 wrong call, 130
interrupted.
`

// tuneParts are the values of --only.
var tuneParts = []string{"wal", "write", "read", "create", "header"}

// tuneFlags are what tune is called with.
type tuneFlags struct {
	dir       string
	budget    time.Duration
	only      []string
	appenders int
	out       string
	dry       bool
	list      bool
	json      string
	seed      uint64
	progress  string
}

func (o *tuneFlags) flags(f *pflag.FlagSet) {
	f.DurationVar(&o.budget, "budget", 2*time.Minute, "how `LONG` to measure, at most; of what it has no room for the defaults are kept")
	f.StringSliceVar(&o.only, "only", nil, "these parts of the profile only: a `LIST` of "+strings.Join(tuneParts, ", ")+"; the others are left out of the file")
	f.IntVar(&o.appenders, "appenders", 0, "`HOW MANY` append to a log at once: 1, 16, 64 or 256; 0 is not known, so that a group-commit window has to suit all of them")
	f.StringVar(&o.out, "out", "", "write the profile to `FILE` instead; - is standard output, and the text then goes to standard error")
	f.BoolVar(&o.dry, "dry-run", false, "measure and print, but write no profile")
	f.BoolVar(&o.list, "list", false, "list what is chosen among, at which loads, and measure nothing")
	f.StringVar(&o.json, "json", "", "write the run behind it, for 'stele report', to `FILE`; - is standard output")
	f.Uint64Var(&o.seed, "seed", 0, "of the order of blocks, their work and the bootstrap; 0 draws one")
	f.StringVar(&o.progress, "progress", "auto", "on standard error: "+strings.Join(progressModes, ", "))
}

func tune(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	var o tuneFlags
	f := newFlags("tune", tuneUsage)
	o.flags(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	err := o.check(f)
	var show progress
	if err == nil {
		show, err = newProgress(o.progress, stderr)
	}
	if err != nil {
		return usageError(stderr, "tune", exitUsage, err)
	}
	choices := o.choices()
	if o.list {
		listChoices(stdout, choices)
		return exitOK
	}
	kept, run, err := o.measure(ctx, choices, show, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "stele tune:", err)
		return exitFailed
	}
	run.Command = append([]string{"stele", "tune"}, args...)
	return o.finish(choices, kept, run, stdout, stderr)
}

// leastBudget has room for one choice, the smallest of which takes some 30
// blocks.
const leastBudget = 5 * time.Second

func (o *tuneFlags) check(f *pflag.FlagSet) error {
	switch f.NArg() {
	case 0:
		o.dir = "."
	case 1:
		o.dir = f.Arg(0)
	default:
		return fmt.Errorf("want one folder, got %d", f.NArg())
	}
	if o.budget < leastBudget {
		return fmt.Errorf("--budget %v: at least %v is needed", o.budget, leastBudget)
	}
	for _, part := range o.only {
		if !slices.Contains(tuneParts, part) {
			return fmt.Errorf("--only %s: want %s", part, strings.Join(tuneParts, ", "))
		}
	}
	if o.appenders != 0 && !slices.Contains(suites.TuneAppenders(), o.appenders) {
		return fmt.Errorf("--appenders %d: want one of %v, or 0", o.appenders, suites.TuneAppenders())
	}
	switch {
	case o.out != "" && o.dry:
		return errors.New("--out and --dry-run do not go together")
	case o.out == "-" && o.json == "-":
		return errors.New("only one of --out and --json can go to standard output (-)")
	}
	for _, name := range []string{o.out, o.json} {
		if name == "" || name == "-" {
			continue
		}
		if st, err := os.Stat(filepath.Dir(name)); err != nil {
			return fmt.Errorf("the folder of the output %s: %w", name, err)
		} else if !st.IsDir() {
			return fmt.Errorf("the folder of the output %s is not a folder", name)
		}
	}
	return nil
}

func (o *tuneFlags) choices() []suites.Choice {
	return slices.DeleteFunc(suites.Tuning(o.appenders), func(c suites.Choice) bool {
		return len(o.only) > 0 && !slices.Contains(o.only, c.Part())
	})
}

const (
	// tuneBlock is the time of a block: enough for hundreds of operations, and
	// short enough for six rounds of all that is compared.
	tuneBlock = 50 * time.Millisecond
	// tuneCost is what a block is reckoned at, its process, its preparation and
	// its cleaning included, and those of the pilot.
	tuneCost = 140 * time.Millisecond
)

// within leaves those of the choices for which the budget has room, at the
// least number of rounds that a verdict takes: less would say nothing of any.
func within(choices []suites.Choice, budget time.Duration) []suites.Choice {
	var cost time.Duration
	for i := range choices {
		for _, e := range choices[i].Experiments() {
			cost += time.Duration((len(e.Variants)+1)*lab.MinRounds) * tuneCost
		}
		if cost > budget && i > 0 {
			return choices[:i]
		}
	}
	return choices
}

// errBudget ends a run whose blocks took longer than was reckoned.
var errBudget = errors.New("the budget is spent")

// measure runs the experiments of the choices that the budget has room for,
// which it returns too.
func (o *tuneFlags) measure(ctx context.Context, choices []suites.Choice, show progress, stderr io.Writer) ([]suites.Choice, *lab.Run, error) {
	if err := o.writable(); err != nil {
		return nil, nil, err
	}
	swept, err := place.Sweep(o.dir)
	for _, s := range swept {
		fmt.Fprintln(stderr, "after a run that was killed:", s)
	}
	if err != nil {
		fmt.Fprintln(stderr, "stele tune: after a run that was killed:", err)
	}
	kept := within(choices, o.budget)
	var experiments []lab.Experiment
	for i := range kept {
		experiments = append(experiments, kept[i].Experiments()...)
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.budget, errBudget)
	defer cancel()
	run, err := lab.Measure(limited, lab.Options{
		Places: []lab.PlaceSpec{{Dir: o.dir}}, BlockTime: tuneBlock,
		Budget: o.budget * 9 / 10 / time.Duration(len(experiments)), Seed: o.seed,
		NoCounting: true, Progress: show.tell,
	}, experiments...)
	show.end()
	return kept, run, err
}

// writable refuses, before two minutes of measuring, an output that cannot be
// written at their end.
func (o *tuneFlags) writable() error {
	name := o.profileName()
	if name == "" || name == "-" {
		return nil
	}
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("the profile cannot be written: %s is not a file", name)
	}
	f, err := atomicfile.Create(name, 0o644, atomicfile.Options{})
	if err != nil {
		return fmt.Errorf("the profile cannot be written: %w", err)
	}
	f.Abort()
	return nil
}

// profileName is where the profile goes: a file, "-", or "" for nowhere.
func (o *tuneFlags) profileName() string {
	if o.dry {
		return ""
	}
	return cmp.Or(o.out, filepath.Join(o.dir, profile.FileName))
}

// interrupted reports whether a run was ended by a signal, and not by its
// budget.
func interrupted(run *lab.Run) bool {
	return run.Partial != "" && !strings.Contains(run.Partial, errBudget.Error())
}

// finish decides, writes everything and returns the exit code.
func (o *tuneFlags) finish(choices, kept []suites.Choice, run *lab.Run, stdout, stderr io.Writer) int {
	text := stdout
	if o.out == "-" || o.json == "-" {
		text = stderr
	}
	env := run.Places[0].Environment
	p := &profile.Profile{
		Schema: profile.Schema, Made: run.Started.Round(time.Second).UTC(),
		Dir: env.Dir, FileSystem: env.FS, Device: env.Device,
	}
	t := tuneText{w: text}
	t.head(run)
	for i := range choices {
		var d suites.Decision
		if i < len(kept) {
			d = choices[i].Decide(run.Results)
		} else {
			d = choices[i].Decide(nil)
			d.Why = "the budget has no room for it: give more, or ask for less with --only"
		}
		d.Apply(p)
		t.decision(d)
	}
	t.use(p)
	var errs []error
	switch name := o.profileName(); {
	case interrupted(run):
		if name != "" {
			fmt.Fprintln(text, "\nInterrupted: no profile was written.")
		}
	case name == "":
	default:
		err := saveProfile(name, p, stdout)
		if err == nil && name != "-" {
			fmt.Fprintln(text, "\nProfile:", name)
		}
		errs = append(errs, err)
	}
	if o.json != "" {
		errs = append(errs, writeFile(o.json, stdout, run.Write))
	}
	if err := errors.Join(append(errs, t.err)...); err != nil {
		fmt.Fprintln(stderr, "stele tune:", err)
		return exitFailed
	}
	if interrupted(run) {
		return exitInterrupted
	}
	return o.failures(run, stderr)
}

// failures names what could not be measured though this place should be able
// to.
func (o *tuneFlags) failures(run *lab.Run, stderr io.Writer) int {
	code := exitOK
	for _, res := range run.Results {
		for _, v := range res.Variants {
			if v.Error != "" && !v.Unsupported {
				fmt.Fprintf(stderr, "stele tune: %s: %s\n", res.ID, v.Error)
				code = exitFailed
			}
		}
	}
	return code
}

// saveProfile replaces the file all or nothing, for a service may be loading it.
func saveProfile(name string, p *profile.Profile, stdout io.Writer) error {
	if name == "-" {
		return p.Encode(stdout)
	}
	var b bytes.Buffer
	if err := p.Encode(&b); err != nil {
		return err
	}
	return atomicfile.WriteFile(name, b.Bytes(), 0o644)
}
