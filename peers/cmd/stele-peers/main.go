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

// run returns 0 when all was measured, 1 when something was not, 2 for a
// wrong call and 130 after an interrupt.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("stele-peers", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, "stele-peers measures other libraries beside Stele, in the experiments that have one.\nAll of them take hours: choose with --filter.\n\n")
		f.PrintDefaults()
	}
	dir := f.String("dir", ".", "measure in this folder")
	fs := f.String("fs", "", "instead, on a fresh image of this file system ("+strings.Join(scratch.Systems(), ", ")+"); needs root")
	filter := f.String("filter", "", "only experiments whose id matches this regular expression")
	list := f.Bool("list", false, "list the experiments and measure nothing")
	rounds := f.Int("rounds", 20, "timed blocks of each variant")
	mix := f.Bool("mix-levels", false, "compare variants that promise different things too, and mark it")
	seed := f.Uint64("seed", 0, "of the order of blocks and their work; 0 draws one")
	file := f.String("json", "", "write the run to this file")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	re, err := regexp.Compile(*filter)
	switch {
	case err != nil:
	case f.NArg() > 0:
		err = fmt.Errorf("%q is no flag", f.Arg(0))
	case *fs != "" && !slices.Contains(scratch.Systems(), *fs):
		err = fmt.Errorf("--fs %s: want %s", *fs, strings.Join(scratch.Systems(), ", "))
	}
	if err != nil {
		fmt.Fprintln(stderr, "stele-peers:", err)
		return 2
	}
	chosen := slices.DeleteFunc(peers.Experiments(), func(e lab.Experiment) bool { return !re.MatchString(e.ID()) })
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
	where := lab.PlaceSpec{Dir: *dir}
	if *fs != "" {
		image, err := scratch.Image(ctx, scratch.Options{FS: *fs, Size: 8 << 30}) // as "stele bench" does
		if err != nil {
			fmt.Fprintln(stderr, "stele-peers:", err)
			return 1
		}
		defer image.Close()
		where = lab.PlaceSpec{Name: *fs, Dir: image.Path, Discarded: true}
	}
	r, err := lab.Measure(ctx, lab.Options{
		Places: []lab.PlaceSpec{where}, Rounds: *rounds, Seed: *seed, MixLevels: *mix,
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
	case r.Partial != nil:
		return 130
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
