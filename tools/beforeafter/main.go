package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/stele-go/stele/internal/measure/scratch"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the settings of a run.
type options struct {
	base      string
	dir       string
	systems   []string // "" is dir itself
	with      []string // test files for the base, below the top of the working tree
	bench     string
	benchtime string
	rounds    int
	mark      float64
	packages  []string
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var systems, with string
	f := flag.NewFlagSet("beforeafter", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.base, "base", "HEAD", "the `revision` before the change")
	f.StringVar(&o.dir, "dir", os.TempDir(), "the `directory` for all files; its file system is measured")
	f.StringVar(&systems, "fs", "", "measure on images of these file systems in the directory instead: a `list` like ext4,xfs (root only)")
	f.StringVar(&with, "with", "", "copy these test files of the working tree into the base: a `list` of paths below its top")
	f.StringVar(&o.bench, "bench", ".", "which benchmarks, as for go test")
	f.StringVar(&o.benchtime, "benchtime", "50ms", "how long or how often (200x) each runs in each round, as for go test")
	f.IntVar(&o.rounds, "rounds", 12, "pairs of runs of each benchmark; an interval needs 6")
	f.Float64Var(&o.mark, "mark", 1.03, "mark a benchmark if its interval is wholly above this ratio")
	f.Usage = func() {
		fmt.Fprintln(stderr, "usage: beforeafter [flags] PACKAGE...\n\nBenchmarks of a base revision and of the working tree, in one run.")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.systems = strings.Split(systems, ",") // of "": the directory itself
	if with != "" {
		o.with = strings.Split(with, ",")
	}
	for _, p := range f.Args() {
		o.packages = append(o.packages, "./"+strings.TrimPrefix(filepath.ToSlash(filepath.Clean(p)), "./"))
	}
	_, err := regexp.Compile(o.bench)
	if err != nil {
		err = fmt.Errorf("-bench: %w", err)
	}
	for _, name := range o.with {
		if err == nil && !(filepath.IsLocal(name) && strings.HasSuffix(name, "_test.go")) {
			err = fmt.Errorf("-with: %s; want paths of test files below the top of the working tree", name)
		}
	}
	switch {
	case err != nil:
	case len(o.packages) == 0:
		err = errors.New("no packages; want some, like ./mkdir ./newfile")
	case o.rounds < 1:
		err = fmt.Errorf("-rounds: %d; want 1 or more", o.rounds)
	case !(o.mark > 0):
		err = fmt.Errorf("-mark: %v; want a ratio above 0", o.mark)
	}
	if err != nil {
		fmt.Fprintln(stderr, "beforeafter:", err)
	}
	return o, err
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	marked, err := measure(ctx, o, stdout, stderr)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "beforeafter: interrupted")
		return 130
	case err != nil:
		fmt.Fprintln(stderr, "beforeafter:", err)
		return 1
	case marked:
		return 1
	}
	return 0
}

// measure builds both sides, and measures them on each file system.
func measure(ctx context.Context, o options, stdout, stderr io.Writer) (marked bool, err error) {
	tmp, err := os.MkdirTemp("", "beforeafter-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	top, err := repository(ctx)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(stderr, "building %s and the working tree\n", o.base)
	baseTree := filepath.Join(tmp, "base")
	rev, err := unpack(ctx, top, o.base, baseTree)
	if err != nil {
		return false, err
	}
	if err := copyTests(o.with, top, baseTree); err != nil {
		return false, err
	}
	before := side{name: "before", tree: baseTree, bin: filepath.Join(tmp, "before")}
	after := side{name: "after", tree: top, bin: filepath.Join(tmp, "after")}
	var built []string
	for _, p := range o.packages {
		if _, err := os.Stat(filepath.Join(baseTree, p)); err != nil {
			fmt.Fprintf(stdout, "%s: not in %s\n", p, o.base)
			continue
		}
		for _, s := range []side{before, after} {
			if err := s.build(ctx, p); err != nil {
				return false, err
			}
		}
		built = append(built, p)
	}
	for _, fs := range o.systems {
		m, err := on(ctx, o, fs, rev, before, after, built, stdout, stderr)
		marked = marked || m
		if err != nil {
			return marked, err
		}
	}
	return marked, nil
}

// on measures the packages on one file system.
func on(ctx context.Context, o options, fs, rev string, before, after side, packages []string, stdout, stderr io.Writer) (marked bool, err error) {
	var p *scratch.Directory
	if fs == "" {
		p, err = scratch.Dir(o.dir)
	} else {
		p, err = scratch.Image(ctx, scratch.Options{FS: fs, Size: 2 << 30, Store: o.dir})
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	seed := rand.Uint64()
	s := series{
		o: o, dir: p.Path, sides: [2]side{before, after}, stderr: stderr,
		rng: rand.New(rand.NewPCG(seed, 0)),
	}
	where := fs
	if where == "" {
		where = o.dir
	}
	s.where = where
	leaves, err := s.discover(ctx, packages, stdout)
	if err == nil {
		err = s.rounds(ctx, leaves, o.rounds, "")
	}
	if err == nil {
		var again []*leaf
		for _, l := range leaves {
			if l.suspect(o.mark, s.rng) {
				l.first = l.pairs
				l.pairs = nil
				again = append(again, l)
			}
		}
		err = s.rounds(ctx, again, o.rounds, "once more: ")
	}
	for _, l := range leaves {
		if len(l.pairs) == 0 { // interrupted before the second series
			l.pairs, l.first = l.first, nil
		}
	}
	fmt.Fprintf(stdout, "\n%s, %s before, the working tree after; %s each, seed %d\n", where, rev, o.benchtime, seed)
	return print(stdout, leaves, o.mark, s.rng), err
}
