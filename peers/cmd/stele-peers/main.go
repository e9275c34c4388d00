// Command stele-peers measures the peers beside Stele. It writes what
// "stele bench" writes, and "stele report" turns its JSON into the rest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/peers"
)

func main() {
	if lab.IsBlock() {
		os.Exit(lab.RunBlock(peers.Experiments()))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute returns 0 when all was measured, 1 when something was not, 2 for a
// wrong call and 130 after an interrupt.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	chosen := slices.DeleteFunc(peers.Experiments(), func(e lab.Experiment) bool { return !o.filter.MatchString(e.ID()) })
	if len(chosen) == 0 {
		fmt.Fprintln(stderr, "stele-peers: no experiment is left; --list lists them")
		return 2
	}
	if o.list {
		for _, e := range chosen {
			fmt.Fprintln(stdout, e.ID())
			for _, v := range e.Variants {
				fmt.Fprintf(stdout, "    %s\n", v.Name)
			}
		}
		return 0
	}
	r, err := measure(ctx, o, args, stderr, chosen)
	if err == nil {
		err = errors.Join(report.Text(stdout, r, report.TextOptions{}), write(o.json, r))
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "stele-peers:", err)
		return 1
	case r.Partial != nil:
		return 130
	case r.Gate != nil:
		if err := report.Comparison(stdout, r.Gate); err != nil {
			fmt.Fprintln(stderr, "stele-peers:", err)
			return run.Broken.ExitCode()
		}
		return r.Gate.Outcome.ExitCode()
	}
	for _, res := range r.Results {
		for _, v := range res.Variants {
			if v.Error != "" && !v.Unsupported {
				return 1
			}
		}
	}
	return 0
}

// options are the flags.
type options struct {
	dir, fs, json string
	against       string
	filter        *regexp.Regexp
	list, mix     bool
	rounds        int
	seed          uint64
}

// parse returns the options, or an error that it has printed.
func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("stele-peers", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, "stele-peers measures other libraries beside Stele, in the experiments that have one.\nAll of them take hours: choose with --filter.\n\n")
		f.PrintDefaults()
	}
	f.StringVar(&o.dir, "dir", ".", "measure in this directory")
	f.StringVar(&o.fs, "fs", "", "instead, on a fresh image of this file system ("+strings.Join(scratch.Systems(), ", ")+"); needs root")
	filter := f.String("filter", "", "only experiments whose id matches this regular expression")
	f.BoolVar(&o.list, "list", false, "list the experiments and measure nothing")
	f.IntVar(&o.rounds, "rounds", 20, "timed blocks of each variant")
	f.BoolVar(&o.mix, "mix-levels", false, "compare variants that promise different things too, and mark it")
	f.Uint64Var(&o.seed, "seed", 0, "of the order of blocks and their work; 0 draws one")
	f.StringVar(&o.against, "against", "", "measure each way also with this other build of stele-peers, in the same rounds, and judge new to old; exit codes as of stele compare")
	f.StringVar(&o.json, "json", "", "write the run to this file")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.filter, err = regexp.Compile(*filter)
	switch {
	case err != nil:
		err = fmt.Errorf("--filter: %w", err)
	case f.NArg() > 0:
		err = fmt.Errorf("%q is no flag", f.Arg(0))
	case o.fs != "" && !slices.Contains(scratch.Systems(), o.fs):
		err = fmt.Errorf("--fs: %q; want %s", o.fs, strings.Join(scratch.Systems(), ", "))
	}
	if err != nil {
		fmt.Fprintln(stderr, "stele-peers:", err)
	}
	return o, err
}

// measure measures the experiments.
func measure(ctx context.Context, o options, args []string, stderr io.Writer, chosen []lab.Experiment) (*run.Run, error) {
	where := lab.PlaceSpec{Dir: o.dir}
	if o.fs != "" {
		image, err := scratch.Image(ctx, scratch.Options{FS: o.fs, Size: 8 << 30}) // as "stele bench" does
		if err != nil {
			return nil, err
		}
		defer image.Close()
		where = lab.PlaceSpec{Name: o.fs, Dir: image.Path, Discarded: true}
	}
	return lab.Measure(ctx, lab.Options{
		Places: []lab.PlaceSpec{where}, Rounds: o.rounds, Seed: o.seed, MixLevels: o.mix, Against: o.against,
		Progress: func(e lab.Event) {
			if e.Kind == "pilot" {
				fmt.Fprintf(stderr, "%d of %d  %s  %s\n", e.Index, e.Of, e.Experiment, e.Variant)
			}
		},
		Command: append([]string{"stele-peers"}, args...),
	}, chosen...)
}

func write(name string, r *run.Run) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(r.Write(f), f.Close())
}
