package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/fileio/pace"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/place"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/suites"
)

const benchUsage = `Usage: stele bench [SUITE|CLAIM ...] [flags]

Measures ways of doing file I/O in a temporary folder below --dir and says
which is faster, by how much, and what each survives. Without a suite it runs
the quick set, about three minutes: one experiment, at most four ways, of each
suite. With the name of a suite it runs all of it; "claims" puts all published
claims to the test, "D1 D5" those two.

Every block is a process of its own on fresh files; blocks of all ways are
interleaved and shuffled. Ctrl-C stops cleanly and keeps what was measured.

Examples:
  stele bench
  stele bench mkdir --filter batch --dir /data
  sudo stele bench mkdir --fs ext4,xfs,btrfs
  sudo stele bench sync --volume gp3
  sudo stele bench replace --fs xfs --volume essd-pl1,size=200
  stele bench D1 D8 --json claims.json
  sudo stele bench mkdir --filter overlap --waits --fs ext4
  sudo stele bench wal --quick --trace --fs ext4
  stele bench --list

Exit codes: 0 measured, 1 something could not be measured, 2 wrong call,
130 interrupted.
`

// benchFlags are what bench is called with.
type benchFlags struct {
	dirs      []string
	fs        []string
	imageSize string
	volume    string
	corpus    string
	filter    string
	list      bool
	quick     bool
	rounds    int
	blockTime time.Duration
	budget    time.Duration
	seed      uint64
	progress  string
	noNoise   bool
	noCalls   bool
	waits     bool
	trace     bool
	analysis
	outputs
}

func (b *benchFlags) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&b.dirs, "dir", nil, "measure in this `DIR` (default the current folder); may be repeated, several disks are measured side by side")
	f.StringSliceVar(&b.fs, "fs", nil, "measure on fresh images of these file systems (`LIST` of ext4, xfs, btrfs, tmpfs), on loop devices; needs root")
	f.StringVar(&b.imageSize, "image-size", "8G", "`SIZE` of each image of --fs; an image takes what is written to it")
	f.StringVar(&b.volume, "volume", "", "limit the images of --fs (without it an ext4) as a cloud volume is limited: `KIND` is "+strings.Join(pace.Names(), ", ")+", with size= in GiB, or iops=N,mbps=N; needs root and cgroup v1")
	f.StringVar(&b.corpus, "corpus", os.Getenv(suites.CorpusEnv), "suite log takes its lines from the real logs (*.log) in this `DIR` instead of making them up")
	f.StringVar(&b.filter, "filter", "", "only experiments whose id matches this `REGEXP`")
	f.BoolVar(&b.list, "list", false, "list suites, experiments and claims, and measure nothing")
	f.BoolVar(&b.quick, "quick", false, "the quick set of the suites named")
	f.IntVar(&b.rounds, "rounds", 20, "timed blocks of each variant")
	f.DurationVar(&b.blockTime, "block-time", 250*time.Millisecond, "time a block should take")
	f.DurationVar(&b.budget, "budget", 0, "lower the rounds so that the whole run takes about this `LONG`, to 6 at least unless it would then take 1.4 times as long; the quick set's default is 2m30s")
	f.Uint64Var(&b.seed, "seed", 0, "of the order of blocks, their work and the bootstrap; 0 draws one and the report says which")
	f.StringVar(&b.progress, "progress", "auto", "on standard error: "+strings.Join(progressModes, ", "))
	f.BoolVar(&b.noNoise, "no-calibration", false, "leave out the A/A blocks, and with them the noise floor")
	f.BoolVar(&b.noCalls, "no-counting", false, "leave out the blocks in which system calls are counted")
	f.BoolVar(&b.waits, "waits", false, "watch goroutines and threads in eight more blocks of each variant, and say where they wait (by kernel stacks as root, else less closely); claims about waiting always do")
	f.BoolVar(&b.trace, "trace", false, "say what the time of each variant went to: --waits, and who waited for whom, and how long each system call took (three more blocks in which the kernel times them; needs root)")
	b.analysis.flags(f)
	b.outputs.flags(f)
}

func bench(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	var b benchFlags
	f := newFlags("bench", benchUsage)
	b.flags(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	toStdout, err := b.outputs.check()
	if err == nil {
		err = b.analysis.check()
	}
	if err == nil {
		err = b.check()
	}
	var chosen selection
	if err == nil {
		chosen, err = b.choose(f.Args())
	}
	if err != nil {
		return usageError(stderr, "bench", exitUsage, err)
	}
	if b.list {
		chosen.list(stdout)
		return exitOK
	}
	show, err := newProgress(b.progress, stderr)
	if err != nil {
		return usageError(stderr, "bench", exitUsage, err)
	}
	places, closePlaces, err := b.places(ctx, stderr)
	defer closePlaces()
	if err != nil {
		fmt.Fprintln(stderr, "stele bench:", err)
		return exitFailed
	}
	if chosen.quick && b.budget == 0 {
		b.budget = 150 * time.Second
	}
	run, err := lab.Measure(ctx, lab.Options{
		Places: places, Rounds: b.rounds, BlockTime: b.blockTime,
		Budget: b.budget / time.Duration(len(chosen.experiments)), Seed: b.seed,
		Tolerance: b.tolerance, Test: b.test, MixLevels: b.mixLevels,
		NoCalibration: b.noNoise, NoCounting: b.noCalls, Waits: b.waits, Trace: b.trace,
		Progress: show.tell, Command: append([]string{"stele", "bench"}, args...), Quick: chosen.quick,
	}, chosen.experiments...)
	show.end()
	if err != nil {
		fmt.Fprintln(stderr, "stele bench:", err)
		return exitFailed
	}
	run.Notes = append(run.Notes, suites.Notes(run.Results)...)
	b.noteVolume(run)
	judge(run, chosen.claims)
	return b.finish(run, chosen, toStdout, stdout, stderr)
}

// check refuses what could only fail later, before anything is set up.
func (b *benchFlags) check() error {
	switch {
	case b.rounds < 1:
		return fmt.Errorf("--rounds %d: at least 1 is needed", b.rounds)
	case b.blockTime < time.Millisecond:
		return fmt.Errorf("--block-time %v: at least 1ms is needed", b.blockTime)
	case b.budget < 0:
		return fmt.Errorf("--budget %v: want a time, 2m for example", b.budget)
	}
	if b.volume != "" {
		if _, err := pace.Parse(b.volume); err != nil {
			return fmt.Errorf("--volume: %w", err)
		}
		if len(b.fs) == 0 {
			b.fs = []string{"ext4"}
		}
	}
	for i, fs := range b.fs {
		if !slices.Contains(place.Systems(), fs) {
			return fmt.Errorf("--fs %s: want %s", fs, strings.Join(place.Systems(), ", "))
		}
		if slices.Contains(b.fs[:i], fs) {
			return fmt.Errorf("--fs %s: named twice", fs)
		}
	}
	if _, err := parseSize(b.imageSize); err != nil {
		return fmt.Errorf("--image-size: %w", err)
	}
	return b.checkCorpus()
}

// checkCorpus makes the folder's name absolute: blocks have other folders.
func (b *benchFlags) checkCorpus() error {
	if b.corpus == "" {
		return nil
	}
	_, err := suites.CorpusFiles(b.corpus)
	if err == nil {
		b.corpus, err = filepath.Abs(b.corpus)
	}
	if err != nil {
		return fmt.Errorf("--corpus: %w", err)
	}
	return nil
}

// finish writes every output and returns the exit code.
func (b *benchFlags) finish(run *lab.Run, chosen selection, toStdout bool, stdout, stderr io.Writer) int {
	text := stdout
	if toStdout {
		text = stderr
	}
	if b.html == "" {
		b.html = "stele-report-" + run.Started.Format("20060102-150405") + ".html"
	}
	errs := []error{b.outputs.write(run, stdout), report.Text(text, run, textOptions(text))}
	if chosen.quick {
		fmt.Fprint(text, chosen.more())
	}
	if b.html != "-" && errs[0] == nil {
		if abs, err := filepath.Abs(b.html); err == nil {
			fmt.Fprintf(text, "\nReport: %s\n", abs)
		}
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(stderr, "stele bench:", err)
		return exitFailed
	}
	if run.Partial != "" {
		return exitInterrupted
	}
	for _, r := range run.Results {
		for _, v := range r.Variants {
			if v.Error != "" && !v.Unsupported {
				return exitFailed
			}
		}
	}
	return exitOK
}

// places sets up the folders to measure in, and sweeps up what a killed run
// may have left there.
func (b *benchFlags) places(ctx context.Context, stderr io.Writer) (specs []lab.PlaceSpec, cleanup func(), err error) {
	var open []*place.Place
	cleanup = func() {
		for _, p := range open {
			if err := p.Close(); err != nil {
				fmt.Fprintln(stderr, "stele bench: clean up:", err)
			}
		}
	}
	dirs := b.dirs
	if len(dirs) == 0 && len(b.fs) == 0 {
		dirs = []string{"."}
	}
	swept, err := place.Sweep(append(slices.Clone(dirs), ".")...)
	for _, s := range swept {
		fmt.Fprintln(stderr, "after a run that was killed:", s)
	}
	if err != nil {
		fmt.Fprintln(stderr, "stele bench: after a run that was killed:", err)
	}
	for _, d := range dirs {
		specs = append(specs, lab.PlaceSpec{Dir: d})
	}
	size, err := parseSize(b.imageSize)
	if err != nil {
		return nil, cleanup, fmt.Errorf("--image-size: %w", err)
	}
	limit, err := b.limit()
	if err != nil {
		return nil, cleanup, fmt.Errorf("--volume: %w", err)
	}
	for _, fs := range b.fs {
		p, err := place.Image(ctx, place.Options{FS: fs, Size: size, Limit: limit})
		if err != nil {
			return nil, cleanup, fmt.Errorf("--fs %s: %w", fs, err)
		}
		open = append(open, p)
		specs = append(specs, lab.PlaceSpec{Name: b.volumePlace(fs), Dir: p.Path, Discarded: true})
	}
	return specs, cleanup, nil
}

// parseSize reads a number of bytes with an optional K, M, G or T (powers of
// 1024).
func parseSize(s string) (int64, error) {
	digits := strings.TrimRight(strings.ToUpper(s), "KMGTIB")
	unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s)[len(digits):], "B"), "I")
	power := strings.Index("KMGT", unit) + 1
	if unit == "" {
		power = 0
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || power == 0 && unit != "" || len(unit) > 1 || n > math.MaxInt64>>(10*power) {
		return 0, fmt.Errorf("%q is no size: want for example 512M or 2G", s)
	}
	return n << (10 * power), nil
}

// A selection is what a call of bench runs.
type selection struct {
	quick       bool
	experiments []lab.Experiment
	claims      []suites.Claim
	suites      []suites.Suite
}

// choose finds what the arguments name.
func (b *benchFlags) choose(args []string) (selection, error) {
	s := selection{quick: b.quick || len(args) == 0 && !b.list, suites: suites.ListOf(b.corpus)}
	var names []string
	wanted := map[string]bool{}
	for _, a := range args {
		wanted[strings.ToLower(a)] = true
	}
	take := func(name string) bool {
		names = append(names, name)
		ok := wanted[strings.ToLower(name)]
		delete(wanted, strings.ToLower(name))
		return ok || len(args) == 0
	}
	allClaims := wanted["claims"] || len(args) == 0 && !s.quick
	delete(wanted, "claims")
	for _, suite := range s.suites {
		if take(suite.Name) {
			if s.quick {
				s.experiments = append(s.experiments, suite.Quick...)
			} else {
				s.experiments = append(s.experiments, suite.Full...)
			}
		}
	}
	for _, suite := range s.suites {
		for _, c := range suite.Claims {
			named := wanted[strings.ToLower(c.ID)]
			delete(wanted, strings.ToLower(c.ID))
			names = append(names, c.ID)
			if named || allClaims {
				s.claims = append(s.claims, c)
				s.experiments = append(s.experiments, c.Experiments...)
			}
		}
	}
	for a := range wanted {
		return s, fmt.Errorf("there is no suite or claim %q; there are claims, %s", a, strings.Join(names, ", "))
	}
	s.experiments = unique(s.experiments)
	if b.filter != "" {
		re, err := regexp.Compile(b.filter)
		if err != nil {
			return s, fmt.Errorf("--filter: %w", err)
		}
		s.experiments = slices.DeleteFunc(s.experiments, func(e lab.Experiment) bool { return !re.MatchString(e.ID()) })
	}
	if len(s.experiments) == 0 {
		return s, fmt.Errorf("no experiment is left; 'stele bench --list' lists them")
	}
	return s, nil
}

// unique drops experiments that came up before: claims share some.
func unique(es []lab.Experiment) []lab.Experiment {
	seen := map[string]bool{}
	return slices.DeleteFunc(es, func(e lab.Experiment) bool {
		had := seen[e.ID()]
		seen[e.ID()] = true
		return had
	})
}

func (s selection) list(w io.Writer) {
	suite := ""
	for _, e := range s.experiments {
		if e.Suite != suite {
			if suite != "" {
				fmt.Fprintln(w)
			}
			suite = e.Suite
			fmt.Fprintln(w, s.heading(suite))
		}
		fmt.Fprintf(w, "  %-38s %s\n", e.ID(), e.Question)
		for _, v := range e.Variants {
			fmt.Fprintf(w, "      %-32s %-18s %s\n", v.Name, v.Promise, v.Doc)
		}
	}
	if len(s.claims) > 0 {
		fmt.Fprintln(w, "\nverdicts on claims")
	}
	for _, c := range s.claims {
		fmt.Fprintf(w, "  %-4s %s\n       claimed: %s\n", c.ID, c.Statement, c.Claimed)
	}
}

func (s selection) heading(suite string) string {
	for _, of := range s.suites {
		if of.Name == suite {
			return suite + ": " + of.Question
		}
	}
	return suite + ": experiments behind published claims"
}

// more says what the full set adds to the quick one.
func (s selection) more() string {
	var b strings.Builder
	b.WriteString("\nThis was the quick set. The full set adds:\n")
	for _, suite := range s.suites {
		variants := 0
		names := map[string]bool{}
		for _, e := range suite.Full {
			variants = max(variants, len(e.Variants))
			names[e.Name] = true
		}
		fmt.Fprintf(&b, "  stele bench %-8s %d experiments (%s), up to %d variants\n", suite.Name, len(suite.Full), strings.Join(slices.Sorted(maps.Keys(names)), ", "), variants)
	}
	n := 0
	for _, suite := range s.suites {
		n += len(suite.Claims)
	}
	fmt.Fprintf(&b, "  stele bench claims   %d published claims, each with a verdict\n", n)
	return b.String()
}

// judge puts the verdicts on the claims, in place of those there were. A claim
// that this Stele does not know keeps the verdict it had.
func judge(run *lab.Run, claims []suites.Claim) {
	run.Claims = slices.DeleteFunc(run.Claims, func(had lab.Claim) bool {
		return slices.ContainsFunc(claims, func(c suites.Claim) bool { return c.ID == had.ID })
	})
	for _, c := range claims {
		run.Claims = append(run.Claims, c.Judge(run.Results, run.Places)...)
	}
}

// experiments is all that a block may be asked to run.
func experiments() []lab.Experiment {
	all := suites.TuneExperiments()
	for _, s := range suites.List() {
		all = append(all, s.Full...)
		for _, c := range s.Claims {
			all = append(all, c.Experiments...)
		}
	}
	return all
}
