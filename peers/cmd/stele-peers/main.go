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
	"syscall"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/peers"
)

func main() {
	if lab.IsBlock() {
		os.Exit(lab.RunBlock(experiments()))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// experiments is the full set of all suites, with the peers.
func experiments() []lab.Experiment {
	var all []lab.Experiment
	for _, s := range peers.Suites() {
		all = append(all, s.Full...)
	}
	return all
}

// run returns 0 when all was measured, 1 when something was not, 2 for a
// wrong call and 130 after an interrupt.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("stele-peers", flag.ContinueOnError)
	f.SetOutput(stderr)
	dir := f.String("dir", ".", "measure in this folder")
	filter := f.String("filter", "", "only experiments whose id matches this regular expression")
	list := f.Bool("list", false, "list the experiments and measure nothing")
	rounds := f.Int("rounds", 20, "timed blocks of each variant")
	seed := f.Uint64("seed", 0, "of the order of blocks and their work; 0 draws one")
	file := f.String("json", "", "write the run to this file")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	re, err := regexp.Compile(*filter)
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("%q is no flag", f.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(stderr, "stele-peers:", err)
		return 2
	}
	chosen := slices.DeleteFunc(experiments(), func(e lab.Experiment) bool { return !re.MatchString(e.ID()) })
	if len(chosen) == 0 {
		fmt.Fprintln(stderr, "stele-peers: no experiment is left; --list lists them")
		return 2
	}
	if *list {
		for _, e := range chosen {
			fmt.Fprintln(stdout, e.ID())
			for _, v := range e.Variants {
				fmt.Fprintf(stdout, "    %s\n", v.Name)
			}
		}
		return 0
	}
	r, err := lab.Measure(ctx, lab.Options{
		Places: []lab.PlaceSpec{{Dir: *dir}}, Rounds: *rounds, Seed: *seed,
		Progress: func(e lab.Event) {
			if e.Kind == "pilot" {
				fmt.Fprintf(stderr, "%d of %d  %s  %s\n", e.Index, e.Of, e.Experiment, e.Variant)
			}
		},
		Command: append([]string{"stele-peers"}, args...),
	}, chosen...)
	if err == nil {
		err = errors.Join(report.Text(stdout, r, report.TextOptions{}), write(*file, r))
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "stele-peers:", err)
		return 1
	case r.Partial != "":
		return 130
	}
	for _, res := range r.Results {
		for _, v := range res.Variants {
			if v.Error != "" {
				return 1
			}
		}
	}
	return 0
}

func write(name string, r *lab.Run) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(r.Write(f), f.Close())
}
