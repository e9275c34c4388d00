package cli

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
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/profile"
	"github.com/stele-go/stele/suites/tuning"
)

const tuneUsage = `Usage: stele tune [DIR] [flags]

Finds the settings of Stele's packages that suit the disk under DIR (default the
current directory), prints each with the figures behind it, and writes them to
DIR/` + profile.FileName + `, a profile that wal and fileio load:

  p, err := profile.Load("/data")
  l, err := wal.Open("/data/log", wal.Options{Profile: p})

It measures as bench does, in a temporary directory below DIR, and needs no root.
Only ways that survive the same are compared. A setting replaces the default
only if it is faster at one load at least and slower at none; "same" and "cannot
tell" keep the default. The text also says what a setting costs later: a file that
was written past the page cache is read from the disk. The speed of a log depends
most on the number of concurrent appenders: give --appenders if you know it. A
profile is valid for one file system on one disk. Ctrl-C prints the settings found
so far, and leaves an existing profile unchanged.

Examples:
  stele tune /tmp
  stele tune . --appenders 64 --only wal,write
  stele tune . --out disk.json --json run.json
  stele tune --dry-run --budget 5m
  stele tune --list
`

// tuneParts are the values of --only.
var tuneParts = []string{"wal", "write", "read", "create", "header"}

// tuneFlags are the flags of tune.
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
	f.DurationVar(&o.budget, "budget", 2*time.Minute, "measure for this `TIME` at most; settings that do not fit in it keep their defaults")
	f.StringSliceVar(&o.only, "only", nil, "only these parts of the profile, a `LIST` of "+strings.Join(tuneParts, ", ")+"; the file has no other part")
	f.IntVar(&o.appenders, "appenders", 0, "`NUMBER` of concurrent appenders of a log: 1, 16, 64 or 256; 0 is unknown: the group-commit window must then suit all of these")
	f.StringVar(&o.out, "out", "", "write the profile to `FILE` instead; - is standard output, with the text on standard error")
	f.BoolVar(&o.dry, "dry-run", false, "measure and print; write no profile")
	f.BoolVar(&o.list, "list", false, "list the settings and loads compared; measure nothing")
	f.StringVar(&o.json, "json", "", "write the run, for 'stele report', as JSON to `FILE`; - is standard output")
	f.Uint64Var(&o.seed, "seed", 0, "`SEED` of the order of blocks, of their work and of the bootstrap; 0 draws one")
	progressFlag(f, &o.progress)
}

func tune(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	var o tuneFlags
	f := newFlags("stele tune", tuneUsage)
	o.flags(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	err := o.check(f)
	var show *meter
	if err == nil {
		show, err = newMeter(o.progress, stderr)
	}
	if err != nil {
		return usageError(stderr, "stele tune", exitUsage, err)
	}
	choices := o.choices()
	if o.list {
		listChoices(stdout, choices)
		return exitOK
	}
	kept, measured, err := o.measure(ctx, choices, show, stderr)
	if err != nil {
		return failed(stderr, "stele tune", err)
	}
	measured.Command = append([]string{"stele", "tune"}, args...)
	return o.finish(choices, kept, measured, stdout, stderr)
}

// leastBudget suffices for the smallest choice, some 30 blocks.
const leastBudget = 5 * time.Second

func (o *tuneFlags) check(f *pflag.FlagSet) error {
	o.dir = cmp.Or(f.Arg(0), ".")
	if err := cmp.Or(argCount(f, "DIR", 0, 1), setting.AtLeast("--budget", o.budget, leastBudget)); err != nil {
		return err
	}
	for _, part := range o.only {
		if err := oneOf("--only", part, tuneParts...); err != nil {
			return err
		}
	}
	if o.appenders != 0 && !slices.Contains(tuning.Appenders(), o.appenders) {
		return setting.Wrong("--appenders", o.appenders, "one of %v, or 0", tuning.Appenders())
	}
	if o.out != "" && o.dry {
		return errors.New("--out and --dry-run: want one of them")
	}
	_, err := checkOutputs(output{"--out", o.out}, output{"--json", o.json})
	return err
}

func (o *tuneFlags) choices() []tuning.Choice {
	return slices.DeleteFunc(tuning.Choices(o.appenders), func(c tuning.Choice) bool {
		return len(o.only) > 0 && !slices.Contains(o.only, c.Part())
	})
}

const (
	// tuneBlock is the time of a block: enough for hundreds of operations, and
	// short enough for six rounds of everything.
	tuneBlock = 50 * time.Millisecond
	// tuneCost is the estimated time of a block, with its process, preparation,
	// cleanup and share of the pilot.
	tuneCost = 140 * time.Millisecond
)

// affordable returns the first choices that fit the budget with the least number
// of rounds for a verdict: fewer rounds would give none.
func affordable(choices []tuning.Choice, budget time.Duration) []tuning.Choice {
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

// errBudget ends a run whose blocks take longer than estimated.
var errBudget = errors.New("the budget is spent")

// measure runs the experiments of the choices that the budget affords, and
// returns these choices.
func (o *tuneFlags) measure(ctx context.Context, choices []tuning.Choice, show *meter, stderr io.Writer) ([]tuning.Choice, *run.Run, error) {
	if err := o.writable(); err != nil {
		return nil, nil, err
	}
	sweepRuns(stderr, "stele tune", o.dir)
	kept := affordable(choices, o.budget)
	var experiments []lab.Experiment
	for i := range kept {
		experiments = append(experiments, kept[i].Experiments()...)
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.budget, errBudget)
	defer cancel()
	beside := watchBeside(show, "stele tune")
	measured, err := lab.Measure(limited, lab.Options{
		Places: []lab.PlaceSpec{{Dir: o.dir}}, BlockTime: tuneBlock,
		Budget: o.budget * 9 / 10, Seed: o.seed,
		NoCounting: true, Progress: beside.during(showRun(show, claimCount{})),
	}, experiments...)
	show.end()
	beside.end(measured)
	return kept, measured, err
}

// writable checks, before two minutes of measuring, that the profile can be
// written.
func (o *tuneFlags) writable() error {
	name := o.profileName()
	if name == "" || name == "-" {
		return nil
	}
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("write profile: %s is not a regular file", name)
	}
	f, err := atomicfile.Create(name, 0o644, atomicfile.Options{})
	if err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	f.Abort()
	return nil
}

// profileName returns the file of the profile, "-", or "" for none.
func (o *tuneFlags) profileName() string {
	if o.dry {
		return ""
	}
	return cmp.Or(o.out, filepath.Join(o.dir, profile.FileName))
}

// interrupted reports whether a run was ended by a signal, and not by its
// budget.
func interrupted(measured *run.Run) bool {
	return measured.Partial != nil && measured.Partial.Cause != errBudget.Error()
}

// finish decides, writes everything and returns the exit code.
func (o *tuneFlags) finish(choices, kept []tuning.Choice, measured *run.Run, stdout, stderr io.Writer) int {
	if interrupted(measured) && !hasData(measured) {
		complain(stderr, "stele tune", errors.New("interrupted before anything was measured: nothing is written"))
		return exitInterrupted
	}
	text := stdout
	if o.out == "-" || o.json == "-" {
		text = stderr
	}
	p := newProfile(measured)
	t := tuneText{w: text}
	t.head(measured)
	for i := range choices {
		var d tuning.Decision
		if i < len(kept) {
			d = choices[i].Decide(measured.Results)
		} else {
			d = choices[i].Decide(nil)
			d.Why = "the budget does not suffice for it: raise --budget, or select fewer parts with --only"
		}
		d.Apply(p)
		t.decision(d)
	}
	t.use(p)
	var errs []error
	switch name := o.profileName(); {
	case interrupted(measured):
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
		if err := writeFile(o.json, stdout, measured.Write); err != nil {
			errs = append(errs, rescue(measured, err))
		}
	}
	if err := errors.Join(append(errs, t.err)...); err != nil {
		return failed(stderr, "stele tune", err)
	}
	if interrupted(measured) {
		return exitInterrupted
	}
	code := exitOK
	for _, err := range failures(measured) {
		code = failed(stderr, "stele tune", err)
	}
	return code
}

// newProfile returns a profile of the place that was measured, without settings.
func newProfile(measured *run.Run) *profile.Profile {
	env := measured.Places[0].Environment
	return &profile.Profile{
		Schema: profile.Schema, Made: measured.Started.Round(time.Second).UTC(),
		Dir: env.Dir, FileSystem: env.FS, Device: env.Device,
	}
}

// saveProfile replaces the file atomically: a service may load it meanwhile.
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
