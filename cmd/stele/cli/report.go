package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites"
	"github.com/stele-go/stele/suites/claims"
)

// outputs are the files to which a run is written.
type outputs struct {
	json, summary, gobench, markdown, html string
}

func (o *outputs) flags(f *pflag.FlagSet) {
	f.StringVar(&o.json, "json", "", "write the whole run, raw blocks included, as JSON to `FILE`; - is standard output")
	f.StringVar(&o.summary, "summary", "", "write the outcome of each experiment, as JSON without raw data, to `FILE`; - is standard output")
	f.StringVar(&o.gobench, "gobench", "", "write Go's benchmark format, for benchstat, to `FILE`; - is standard output")
	f.StringVar(&o.markdown, "markdown", "", "write Markdown to `FILE`; - is standard output")
	f.StringVar(&o.html, "html", "", "write the HTML report to `FILE`; - is standard output")
}

// all returns the outputs with their flags.
func (o *outputs) all() []output {
	return []output{{"--json", o.json}, {"--summary", o.summary}, {"--gobench", o.gobench}, {"--markdown", o.markdown}, {"--html", o.html}}
}

func (o *outputs) write(r *run.Run, stdout io.Writer) error {
	var errs []error
	for _, out := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{o.json, func(w io.Writer) error { return r.Write(w) }},
		{o.summary, func(w io.Writer) error { return r.Summary().Write(w) }},
		{o.gobench, func(w io.Writer) error { return report.GoBench(w, r) }},
		{o.markdown, func(w io.Writer) error { return report.Markdown(w, r) }},
		{o.html, func(w io.Writer) error { return report.HTML(w, r) }},
	} {
		if out.name != "" {
			errs = append(errs, writeFile(out.name, stdout, out.write))
		}
	}
	return errors.Join(errs...)
}

// rescue writes a run to a temporary file, as JSON, because its outputs could not be
// written, and measuring again takes minutes. It returns cause, with the name of that
// file.
func rescue(r *run.Run, cause error) error {
	f, err := os.CreateTemp("", "stele-run-*.json")
	if err != nil {
		return errors.Join(cause, fmt.Errorf("keep the run: %w", err))
	}
	if err := errors.Join(r.Write(f), f.Close()); err != nil {
		return errors.Join(cause, fmt.Errorf("keep the run: %w", err), os.Remove(f.Name()))
	}
	return errors.Join(cause, fmt.Errorf("the run is kept as JSON in %s; 'stele report' turns it into every other output", f.Name()))
}

// A picture is the file of --svg, and the experiment that it shows.
type picture struct{ file, experiment string }

func (p *picture) flags(f *pflag.FlagSet) {
	f.StringVar(&p.file, "svg", "", "draw one experiment as a picture, in SVG, to `FILE`; - is standard output")
	f.StringVar(&p.experiment, "experiment", "", "`ID` of the experiment that --svg draws; needed if the run has more than one")
}

// result returns the result to draw.
func (p *picture) result(r *run.Run) (*run.Result, error) {
	var ids []string
	var found []*run.Result
	for _, res := range r.Results {
		if p.experiment == "" || p.experiment == res.ID {
			found = append(found, res)
		}
		ids = append(ids, res.ID)
	}
	if len(found) != 1 {
		return nil, setting.Wrong("--experiment", p.experiment, "the ID of one result of the run, which has %s", strings.Join(ids, ", "))
	}
	return found[0], nil
}

const reportUsage = `Usage: stele report RUN.json [flags]

Turns a run that 'stele bench --json' wrote into any other output; - reads the
run from standard input. Without flags it prints the text that bench prints, with
--details every table, warning and note. It derives all verdicts again from the
raw blocks, also those on claims, so --tolerance and --test may differ from those
of the run. --svg draws one experiment of the run, for a page or a mail.

Examples:
  stele report run.json
  stele report run.json --details
  stele report run.json --html run.html --markdown run.md
  stele report run.json --svg run.svg --experiment mkdir/depth/depth=1
  stele report run.json --tolerance 0.02 --test mannwhitney
`

func reportCommand(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele report", reportUsage)
	var out outputs
	out.flags(f)
	var again analysis
	again.flags(f)
	var drawing picture
	drawing.flags(f)
	var details bool
	detailsFlag(f, &details)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	toStdout, err := checkOutputs(append(out.all(), output{"--svg", drawing.file})...)
	if err == nil && toStdout && details {
		err = errors.New("--details: its text needs standard output, which another output has")
	}
	if err == nil && drawing.experiment != "" && drawing.file == "" {
		err = errors.New("--experiment: want --svg with it")
	}
	if err == nil {
		err = argCount(f, "RUN.json", 1, 1)
	}
	if err == nil {
		err = again.check()
	}
	if err != nil {
		return usageError(stderr, "stele report", exitUsage, err)
	}
	r, err := readRun(ctx, f.Arg(0), stdin)
	if err != nil {
		complain(stderr, "stele report", err)
		if ctx.Err() != nil {
			return exitInterrupted
		}
		return exitFailed
	}
	var drawn *run.Result
	if drawing.file != "" {
		if drawn, err = drawing.result(r); err != nil {
			return usageError(stderr, "stele report", exitUsage, err)
		}
	}
	again.apply(f, r)
	r.Analyse()
	judge(r, claimsIn(r))
	err = out.write(r, stdout)
	if drawn != nil {
		err = errors.Join(err, writeFile(drawing.file, stdout, func(w io.Writer) error { return report.SVG(w, r, drawn) }))
	}
	if details || drawn == nil && out == (outputs{}) {
		err = errors.Join(err, report.Text(stdout, r, textOptions(stdout, details)))
	}
	if err != nil {
		return failed(stderr, "stele report", err)
	}
	return exitOK
}

// claimsIn returns the claims on which a run has verdicts.
func claimsIn(r *run.Run) []claims.Claim {
	var in []claims.Claim
	for _, s := range suites.List() {
		for _, c := range s.Claims {
			if slices.ContainsFunc(r.Claims, func(had run.Claim) bool { return had.ID == c.ID }) {
				in = append(in, c)
			}
		}
	}
	return in
}

// analysis are the flags that decide how blocks become verdicts.
type analysis struct {
	tolerance float64
	test      string
	mixLevels bool
}

func (a *analysis) flags(f *pflag.FlagSet) {
	f.Float64Var(&a.tolerance, "tolerance", 0.05, "smallest difference that counts, as a `SHARE`: 0.05 is 5 %; or the A/A noise if that is more")
	f.StringVar(&a.test, "test", "bootstrap", "`TEST` that must agree with the interval of the ratio: bootstrap (the interval alone), welch or mannwhitney")
	f.BoolVar(&a.mixLevels, "mix-levels", false, "also compare variants with different promises, and mark them")
}

func (a *analysis) check() error {
	if !(a.tolerance > 0 && a.tolerance < 1) {
		return setting.Wrong("--tolerance", a.tolerance, "a share between 0 and 1: 0.05 is 5 %%")
	}
	return oneOf("--test", a.test, "bootstrap", "welch", "mannwhitney")
}

// apply changes the settings of a run by the flags that were given. The other
// settings stay those of the measurement.
func (a *analysis) apply(f *pflag.FlagSet, r *run.Run) {
	f.Visit(func(fl *pflag.Flag) {
		switch fl.Name {
		case "tolerance":
			r.Settings.Tolerance = a.tolerance
		case "test":
			r.Settings.Test = a.test
		case "mix-levels":
			r.Settings.MixLevels = a.mixLevels
		}
	})
}

// readRun reads a run. It returns once ctx is done: a FIFO or standard input may
// never deliver one.
func readRun(ctx context.Context, name string, stdin io.Reader) (*run.Run, error) {
	done := make(chan struct{})
	var got *run.Run
	var failed error
	go func() { // which may end only with the process
		defer close(done)
		got, failed = readRunFrom(name, stdin)
	}()
	select {
	case <-done:
		return got, failed
	case <-ctx.Done():
		return nil, fmt.Errorf("read %s: %w", name, ctx.Err())
	}
}

func readRunFrom(name string, stdin io.Reader) (*run.Run, error) {
	if name == "-" {
		r, err := run.Read(stdin)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return r, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := run.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

func detailsFlag(f *pflag.FlagSet, details *bool) {
	f.BoolVar(details, "details", false, "print every table, warning and note above the outcome")
}

func textOptions(stdout io.Writer, details bool) report.TextOptions {
	n := width(stdout)
	return report.TextOptions{Width: n, Color: n > 0 && os.Getenv("NO_COLOR") == "", Details: details}
}
