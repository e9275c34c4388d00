package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/suites"
)

// outputs are the files a run can be written to.
type outputs struct {
	json, gobench, markdown, html string
}

func (o *outputs) flags(f *pflag.FlagSet) {
	f.StringVar(&o.json, "json", "", "write the whole run, raw blocks included, to `FILE`; - is standard output")
	f.StringVar(&o.gobench, "gobench", "", "write Go's benchmark format, for benchstat, to `FILE`; - is standard output")
	f.StringVar(&o.markdown, "markdown", "", "write Markdown to `FILE`; - is standard output")
	f.StringVar(&o.html, "html", "", "write the HTML report to `FILE`; - is standard output")
}

// check refuses two outputs on one standard output; toStdout says whether
// one goes there.
func (o *outputs) check() (toStdout bool, err error) {
	n := 0
	for _, name := range []string{o.json, o.gobench, o.markdown, o.html} {
		if name == "-" {
			n++
		}
	}
	if n > 1 {
		return true, errors.New("only one of --json, --gobench, --markdown and --html can go to standard output (-)")
	}
	for _, name := range []string{o.json, o.gobench, o.markdown, o.html} {
		if name == "" || name == "-" {
			continue
		}
		if st, err := os.Stat(filepath.Dir(name)); err != nil {
			return false, fmt.Errorf("the folder of the output %s: %w", name, err)
		} else if !st.IsDir() {
			return false, fmt.Errorf("the folder of the output %s is not a folder", name)
		}
	}
	return n == 1, nil
}

func (o *outputs) write(r *lab.Run, stdout io.Writer) error {
	var errs []error
	for _, out := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{o.json, func(w io.Writer) error { return r.Write(w) }},
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

// writeFile writes to the named file, or to stdout for "-". A file appears
// under its name only when it is complete, with the permissions of the one that
// was there. A device or a FIFO is written to.
func writeFile(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "-" {
		return write(stdout)
	}
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	o := atomicfile.Options{Level: durability.Kill, Keep: atomicfile.KeepMode, Links: atomicfile.FollowLinks}
	f, err := atomicfile.Create(name, 0o666, o)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := write(f); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return f.Commit()
}

func reportCommand(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("report", `Usage: stele report RUN.json [flags]

Turns a run that 'stele bench --json' wrote into any other output; - reads it
from standard input. Without flags it prints the text that bench prints. The
verdicts, those on claims too, are derived again from the raw blocks, so they
can be asked for with another tolerance or test.

Examples:
  stele report run.json
  stele report run.json --html run.html --markdown run.md
  stele report run.json --tolerance 0.02 --test mannwhitney
`)
	var out outputs
	out.flags(f)
	var again analysis
	again.flags(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	toStdout, err := out.check()
	if err == nil && f.NArg() != 1 {
		err = fmt.Errorf("want one file, got %d", f.NArg())
	}
	if err == nil {
		err = again.check()
	}
	if err != nil {
		return usageError(stderr, "report", exitUsage, err)
	}
	r, err := readRun(ctx, f.Arg(0), stdin)
	if err == nil {
		again.apply(f, r)
		r.Analyse()
		judge(r, claimsIn(r))
		if err = out.write(r, stdout); err == nil && !toStdout && out == (outputs{}) {
			err = report.Text(stdout, r, textOptions(stdout))
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "stele report:", err)
		if r == nil && ctx.Err() != nil {
			return exitInterrupted
		}
		return exitFailed
	}
	return exitOK
}

// claimsIn are the claims that a run has verdicts on.
func claimsIn(r *lab.Run) []suites.Claim {
	var in []suites.Claim
	for _, s := range suites.List() {
		for _, c := range s.Claims {
			if slices.ContainsFunc(r.Claims, func(had lab.Claim) bool { return had.ID == c.ID }) {
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
	f.Float64Var(&a.tolerance, "tolerance", 0.05, "smallest difference that counts, as a `SHARE`: 0.05 is 5 %; never less than the A/A noise")
	f.StringVar(&a.test, "test", "bootstrap", "what must agree with the interval of the ratio: `TEST` is bootstrap (nothing else), welch or mannwhitney")
	f.BoolVar(&a.mixLevels, "mix-levels", false, "compare variants that promise different things too, and mark it")
}

func (a *analysis) check() error {
	if a.tolerance <= 0 || a.tolerance >= 1 {
		return fmt.Errorf("--tolerance %g: want a share between 0 and 1, 0.05 for 5 %%", a.tolerance)
	}
	switch a.test {
	case "bootstrap", "welch", "mannwhitney":
		return nil
	}
	return fmt.Errorf("--test %s: want bootstrap, welch or mannwhitney", a.test)
}

// apply puts the flags that were given into the settings of a run that was
// read; the others stay as they were when it was measured.
func (a *analysis) apply(f *pflag.FlagSet, r *lab.Run) {
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

// readRun reads a run until ctx is done: a FIFO and standard input may be
// silent for ever.
func readRun(ctx context.Context, name string, stdin io.Reader) (*lab.Run, error) {
	done := make(chan struct{})
	var got *lab.Run
	var failed error
	go func() { // which ends with the process at last
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

func readRunFrom(name string, stdin io.Reader) (*lab.Run, error) {
	if name == "-" {
		r, err := lab.ReadRun(stdin)
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
	r, err := lab.ReadRun(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

func textOptions(stdout io.Writer) report.TextOptions {
	n := width(stdout)
	return report.TextOptions{Width: n, Color: n > 0 && os.Getenv("NO_COLOR") == ""}
}
