package cli

import (
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

	"github.com/stele-go/stele/fileio/pace"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites"
	"github.com/stele-go/stele/suites/claims"
	"github.com/stele-go/stele/suites/logs"
	"github.com/stele-go/stele/suites/syncs"
	"github.com/stele-go/stele/suites/tuning"
)

const benchUsage = `Usage: stele bench [SUITE|CLAIM ...] [flags]

Measures ways of doing file I/O in a temporary directory below --dir, and says
which is faster, by how much, and what each survives. Without an argument it
runs the quick set, less than three minutes: one experiment of each suite, with at
most four ways. A SUITE runs all experiments of that suite, "claims" tests all
published claims, and "D1 D5" tests these two.

'stele bench io' measures jobs of reads and writes that flags describe, 'stele
bench cmd' any commands: see 'stele help bench io' and 'stele help bench cmd'.

Every block is a process of its own on fresh files. The blocks of all ways are
interleaved and shuffled. bench says first how long it will take; suites and
claims can take an hour or more, and --budget sets a limit. An experiment ends
when its verdicts are clear. Ctrl-C ends at once and keeps the measurements.

Exit codes: 0 measured; 1 a way failed, or a result could not be written; 2 wrong
call, nothing was done; 130 interrupted. With --against they are those of 'stele
compare', and a way that failed is 3.

Examples:
  stele bench
  stele bench mkdir --filter batch --dir /data
  sudo stele bench mkdir --fs ext4,xfs,btrfs
  sudo stele bench sync --volume gp3
  sudo stele bench replace --fs xfs --volume essd-pl1,size=200
  stele bench D1 D8 --json claims.json
  sudo stele bench mkdir --filter overlap --waits --fs ext4
  sudo stele bench wal --quick --trace --fs ext4
  stele bench replace --against ./stele-main --markdown comment.md
  stele bench --list
`

// benchFlags are the flags of bench.
type benchFlags struct {
	Bench
	dirs      []string
	device    string // that jobs work on, in place of files in dirs; or ""
	fs        []string
	imageSize string
	volume    string
	lines     logs.Source // of suites log and serve
	linesErr  error       // of the environment
	filter    string
	list      bool
	quick     bool
	rounds    int
	allRounds bool
	blockTime time.Duration
	budget    time.Duration
	seed      uint64
	cpus      cpuFlag
	progress  string
	noNoise   bool
	noCalls   bool
	waits     bool
	trace     bool
	details   bool
	against   string
	analysis
	outputs

	tested claimCount // of the run, for its progress
}

func (b *benchFlags) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&b.dirs, "dir", nil, "measure in this `DIR` (default the current directory); repeat it to measure several disks side by side")
	f.StringSliceVar(&b.fs, "fs", nil, "measure on fresh images of these file systems, a `LIST` of "+strings.Join(scratch.Systems(), ", ")+"; needs root")
	f.StringVar(&b.imageSize, "image-size", "8G", "`SIZE` of each image of --fs; an image occupies only the bytes that are written to it")
	f.StringVar(&b.volume, "volume", "", "limit the images of --fs (default ext4) to the rates of a cloud volume: `KIND` is "+strings.Join(pace.Names(), ", ")+", with size= in GiB, or iops=N,mbps=N; needs root, and the controller io of cgroup v2 or blkio of v1")
	if b.ownSuites {
		b.lines, b.linesErr = logs.SourceFromEnv()
		f.StringVar(&b.lines.Corpus, "corpus", b.lines.Corpus, "suites log and serve read their lines from the logs (*.log) in this `DIR` instead of generating them")
		f.IntVar(&b.lines.Streams, "streams", b.lines.Streams, "suites log and serve have lines of `NUMBER` streams, each of which gets one line in turn (default some 400 of very different sizes)")
	}
	f.StringVar(&b.filter, "filter", "", "run only experiments with an ID that matches this `REGEXP`")
	f.BoolVar(&b.list, "list", false, "list suites, experiments and claims; measure nothing")
	f.BoolVar(&b.quick, "quick", false, "run the quick set of the suites named")
	f.IntVar(&b.rounds, "rounds", 20, "`NUMBER` of timed blocks of each variant, at most: an experiment ends sooner once every verdict is clear")
	f.BoolVar(&b.allRounds, "fixed-rounds", false, "run all --rounds, clear or not: for runs that 'stele compare' is to compare")
	f.DurationVar(&b.blockTime, "block-time", 250*time.Millisecond, "target `TIME` of a block")
	f.DurationVar(&b.budget, "budget", 0, "end within about this `TIME` (default 2m30s for the quick set): six rounds of every experiment, the cheapest first, then more where they settle most; blocks are made shorter if need be")
	f.Var(&b.cpus, "cpus", "run the blocks on these processors only, a `LIST` such as 0,2-3 (default all that this process may use)")
	f.Uint64Var(&b.seed, "seed", 0, "`SEED` of the order of blocks, of their work and of the bootstrap; 0 draws one, which the report names")
	progressFlag(f, &b.progress)
	f.BoolVar(&b.noNoise, "no-calibration", false, "skip the A/A blocks, and with them the noise floor")
	f.BoolVar(&b.noCalls, "no-counting", false, "skip the blocks in which system calls are counted")
	f.BoolVar(&b.waits, "waits", false, "sample goroutines and threads in eight more blocks of each variant, and show where they wait (by kernel stacks as root, else less closely); claims about waiting always do")
	f.BoolVar(&b.trace, "trace", false, "show how each variant spends its time: --waits, which goroutine waits for which, and the latency of each system call (three more blocks in which the kernel times them; needs root)")
	detailsFlag(f, &b.details)
	f.StringVar(&b.against, "against", "", "measure each way also with `BINARY`, another build of this program, in the same rounds, and judge new to old: exit codes as of compare")
	b.analysis.flags(f)
	b.outputs.flags(f)
}

func bench(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case "io":
			return benchIO(ctx, args[1:], stdout, stderr)
		case "cmd":
			return benchCmd(ctx, args[1:], stdout, stderr)
		}
	}
	return steleBench().Run(ctx, args, stdout, stderr)
}

// Run measures as args ask for, and returns the exit code of the process: those of
// "stele bench". Results go to stdout, progress and errors to stderr.
func (p Bench) Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	b := benchFlags{Bench: p}
	f := newFlags(p.Name, p.Help)
	b.flags(f)
	wrong, failure := benchCodes(args)
	if code, done := parse(f, args, wrong, stdout, stderr); done {
		return code
	}
	toStdout, err := checkOutputs(b.outputs.all()...)
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
		return usageError(stderr, p.Name, wrong, err)
	}
	if b.list {
		chosen.list(stdout)
		return exitOK
	}
	show, err := newMeter(b.progress, stderr)
	if err != nil {
		return usageError(stderr, p.Name, wrong, err)
	}
	places, closePlaces, err := b.places(ctx, stderr)
	defer closePlaces()
	if err != nil {
		complain(stderr, p.Name, err)
		return failure
	}
	if chosen.quick && b.budget == 0 {
		b.budget = 150 * time.Second
	}
	b.tested = chosen.countClaims()
	measured, err := b.measure(ctx, show, places, slices.Concat(strings.Fields(p.Name), args), chosen.quick, chosen.experiments...)
	if err != nil {
		complain(stderr, p.Name, err)
		return failure
	}
	measured.Notes = append(measured.Notes, syncs.Notes(measured.Results)...)
	b.noteVolume(measured)
	judge(measured, chosen.claims)
	return b.finish(measured, chosen, toStdout, stdout, stderr)
}

// measure runs the experiments as the flags ask for, and shows the progress.
func (b *benchFlags) measure(ctx context.Context, show *meter, places []lab.PlaceSpec, command []string, quick bool, es ...lab.Experiment) (*run.Run, error) {
	beside := watchBeside(show, b.Name)
	measured, err := lab.Measure(ctx, lab.Options{
		CPUs: b.cpus, Places: places, Rounds: b.rounds, FixedRounds: b.allRounds, BlockTime: b.blockTime,
		Budget: b.budget, Seed: b.seed,
		Tolerance: b.tolerance, Test: b.test, MixLevels: b.mixLevels,
		NoCalibration: b.noNoise, NoCounting: b.noCalls, Waits: b.waits, Trace: b.trace, Against: b.against,
		Progress: beside.during(showRun(show, b.tested)), Command: command, Quick: quick,
	}, es...)
	show.end()
	beside.end(measured)
	return measured, err
}

// check refuses wrong flags before anything is set up.
func (b *benchFlags) check() error {
	err := cmp.Or(
		setting.AtLeast("--rounds", b.rounds, 1),
		setting.AtLeast("--block-time", b.blockTime, time.Millisecond),
		setting.AtLeast("--budget", b.budget, 0),
	)
	if err != nil {
		return err
	}
	if err := lab.CheckCPUs(b.cpus); err != nil {
		return asFlag(err, map[string]string{"lab: Options.CPUs": "--cpus"})
	}
	if err := b.checkAgainst(); err != nil {
		return err
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
		if err := oneOf("--fs", fs, scratch.Systems()...); err != nil {
			return err
		}
		if slices.Contains(b.fs[:i], fs) {
			return setting.Wrong("--fs", fs, "each file system once")
		}
	}
	if _, err := sizeFlag("--image-size", b.imageSize); err != nil {
		return err
	}
	return b.checkLines()
}

// checkLines makes the path of the corpus absolute: blocks run in other directories.
func (b *benchFlags) checkLines() error {
	if err := cmp.Or(b.linesErr, b.lines.Check()); err != nil {
		return fmt.Errorf("--streams: %w", err)
	}
	if b.lines.Corpus == "" {
		return nil
	}
	_, err := logs.CorpusFiles(b.lines.Corpus)
	if err == nil {
		b.lines.Corpus, err = filepath.Abs(b.lines.Corpus)
	}
	if err != nil {
		return fmt.Errorf("--corpus: %w", err)
	}
	return nil
}

// finish writes every output and returns the exit code.
func (b *benchFlags) finish(measured *run.Run, chosen selection, toStdout bool, stdout, stderr io.Writer) int {
	if measured.Partial != nil && !hasData(measured) {
		complain(stderr, b.Name, errors.New("interrupted before anything was measured: no report is written"))
		return exitInterrupted
	}
	text := stdout
	if toStdout {
		text = stderr
	}
	if measured.Gate != nil {
		return b.finishAgainst(measured, text, stdout, stderr)
	}
	written := b.outputs.write(measured, stdout)
	if written != nil {
		written = rescue(measured, written)
	}
	shown := report.Text(text, measured, textOptions(text, b.details))
	if chosen.quick {
		fmt.Fprintf(text, more, b.Name)
	}
	b.page(measured, written == nil, text, stderr)
	if err := errors.Join(written, shown); err != nil {
		return failed(stderr, b.Name, err)
	}
	if measured.Partial != nil {
		return exitInterrupted
	}
	if len(failures(measured)) > 0 { // the report has them
		return exitFailed
	}
	return exitOK
}

// page names the HTML report, and writes one that no flag asked for. That one may
// fail: the directory may be read-only.
func (b *benchFlags) page(measured *run.Run, written bool, text, stderr io.Writer) {
	name := b.html
	if name == "" {
		name = "stele-report-" + measured.Started.Format("20060102-150405") + ".html"
		if err := writeFile(name, nil, func(w io.Writer) error { return report.HTML(w, measured) }); err != nil {
			complain(stderr, b.Name, fmt.Errorf("no HTML report: %w; --html FILE writes it elsewhere", err))
			return
		}
	}
	if name == "-" || !written {
		return
	}
	if abs, err := filepath.Abs(name); err == nil {
		fmt.Fprintf(text, "\nReport: %s\n", abs)
	}
}

// hasData reports whether a timed block ended.
func hasData(measured *run.Run) bool {
	return slices.ContainsFunc(measured.Results, func(r *run.Result) bool {
		return slices.ContainsFunc(r.Blocks, func(b run.Block) bool { return b.Role == run.RoleTimed && b.Error == "" })
	})
}

// places sets up the directories to measure in, and removes there the remains of
// killed runs.
func (b *benchFlags) places(ctx context.Context, stderr io.Writer) (specs []lab.PlaceSpec, cleanup func(), err error) {
	var open []*scratch.Directory
	cleanup = func() {
		for _, p := range open {
			if err := p.Close(); err != nil {
				complain(stderr, b.Name, fmt.Errorf("clean up: %w", err))
			}
		}
	}
	dirs := b.dirs
	if len(dirs) == 0 && len(b.fs) == 0 {
		dirs = []string{"."}
	}
	dirs = distinct(dirs)
	sweepRuns(stderr, b.Name, append(slices.Clone(dirs), ".")...)
	for _, d := range dirs {
		specs = append(specs, lab.PlaceSpec{Name: b.device, Dir: d, Device: b.device})
	}
	size, err := sizeFlag("--image-size", b.imageSize)
	if err != nil {
		return nil, cleanup, err
	}
	limit, err := b.limit()
	if err != nil {
		return nil, cleanup, fmt.Errorf("--volume: %w", err)
	}
	for _, fs := range b.fs {
		p, err := scratch.Image(ctx, scratch.Options{FS: fs, Size: size, Limit: limit})
		if err != nil {
			return nil, cleanup, fmt.Errorf("--fs %s: %w", fs, err)
		}
		open = append(open, p)
		specs = append(specs, lab.PlaceSpec{Name: b.volumePlace(fs), Dir: p.Path, Discarded: true})
	}
	return specs, cleanup, nil
}

// distinct returns dirs with each directory once, under its first name.
func distinct(dirs []string) []string {
	var kept []string
	var seen []os.FileInfo
	for _, d := range dirs {
		if st, err := os.Stat(d); err == nil { // lab.Measure reports the error
			if slices.ContainsFunc(seen, func(s os.FileInfo) bool { return os.SameFile(s, st) }) {
				continue
			}
			seen = append(seen, st)
		}
		kept = append(kept, d)
	}
	return kept
}

// sweepRuns removes the remains of killed runs in dirs.
func sweepRuns(stderr io.Writer, name string, dirs ...string) {
	swept, err := scratch.Sweep(dirs...)
	for _, s := range swept {
		fmt.Fprintln(stderr, "after a run that was killed:", s)
	}
	if err != nil {
		complain(stderr, name, fmt.Errorf("after a run that was killed: %w", err))
	}
}

// failures returns the errors of the variants that failed although they are
// supported here.
func failures(measured *run.Run) (errs []error) {
	for _, r := range measured.Results {
		for _, v := range r.Variants {
			if v.Error != "" && !v.Unsupported {
				errs = append(errs, fmt.Errorf("%s: %s", r.ID, v.Error))
			}
		}
	}
	return errs
}

// judge replaces the verdicts of the run on the claims. Verdicts on claims that
// this Stele does not know stay.
func judge(measured *run.Run, on []claims.Claim) {
	measured.Claims = slices.DeleteFunc(measured.Claims, func(had run.Claim) bool {
		return slices.ContainsFunc(on, func(c claims.Claim) bool { return c.ID == had.ID })
	})
	for _, c := range on {
		measured.Claims = append(measured.Claims, c.Judge(measured.Results, measured.Places)...)
	}
}

// steleBench is the bench of program stele.
func steleBench() Bench {
	return Bench{Name: "stele bench", Help: benchUsage, Suites: suites.List, ownSuites: true}
}

// experiments returns all experiments that a block of program stele can run.
func experiments() []lab.Experiment {
	return append(tuning.Experiments(), steleBench().experiments()...)
}
