package cli

import (
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

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/iojob"
)

const benchIOUsage = `Usage: stele bench io [JOBFILE] [flags]

Measures jobs of reads and writes on a file, as fio does: described by flags, by
--job for each of several, or in a file. Several jobs are compared: their blocks
are interleaved and shuffled, and the report says which crash the writes of each
job survive.

The jobs work on a fresh file in --dir, which is written and synced beforehand
and removed afterwards; that is not timed. An existing file or a block device
(--file) is read; it is written only with --overwrite, which destroys its
content. With --rw append each thread appends to a file of its own, which is empty
at the start of each block: the writes of a log.

Without --rate each thread starts an operation when one has ended (a closed
model). One that stalls then holds up others whose latency does not show it.
With --rate operations arrive at times of their own, and a latency counts from
the time at which the operation was to start, waiting behind a stalled one
included (an open model: no coordinated omission). The time of an operation is
then the mean latency. A job that does not keep up with its rate is named: its
latency grows as long as a block lasts.

Jobs that survive different things, as a job that syncs each write and one that
does not, are compared only with --mix-levels.

Exit codes are those of 'stele bench': 1 if a job failed.

A JOBFILE has a section for each job. Its keys are the flags of a job; [global]
and the flags given beside the file hold for all jobs:

  [global]
  size = 1G
  direct
  [shallow]
  depth = 1
  [deep]
  depth = 16

Examples:
  stele bench io --rw randread --direct --size 1G
  stele bench io --rw randwrite --job 'each: --fsync 1' --job 'tenth: --fsync 10' --mix-levels
  stele bench io --direct --job '--depth 1' --job '--depth 16'
  stele bench io --rw randrw=70 --block 4k:70,64k:30 --pattern zipf:1.1 --threads 4
  stele bench io --rw randread --direct --rate 500 --time 10s
  stele bench io --rw append --job 'each: --sync fdatasync' --job 'open: --sync o_dsync'
  stele bench io --rw randread --job '--engine sync' --job '--engine mmap'
  stele bench io jobs.ini --dir /data --json run.json
  stele bench io --file /dev/nvme1n1 --direct --depth 32
`

// ioFlags are the flags of bench io.
type ioFlags struct {
	benchFlags
	base      iojob.Job
	jobs      []string
	file      string
	overwrite bool
	ops       int64
	sized     bool // --size was given
}

// jobFlagsOf adds the flags of a job, which set j.
func jobFlagsOf(f *pflag.FlagSet, j *iojob.Job) {
	for _, k := range iojob.Keys() {
		fl := f.VarPF(&jobValue{job: j, key: k}, k.Name, "", k.Doc)
		if k.Bool {
			fl.NoOptDefVal = "true"
		}
	}
	for _, name := range iojob.FioNames() { // which the error translates
		f.VarPF(&jobValue{job: j, key: iojob.Key{Name: name}}, name, "", "").Hidden = true
	}
}

// A jobValue is a flag that sets a job.
type jobValue struct {
	job *iojob.Job
	key iojob.Key
}

func (v *jobValue) Set(text string) error { return v.job.Set(v.key.Name, text) }
func (v *jobValue) String() string        { return "" }
func (v *jobValue) Type() string {
	if v.key.Bool {
		return "bool"
	}
	return "setting"
}

func benchIO(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	const name = "stele bench io"
	b := ioFlags{base: iojob.New()}
	d := newDescribed(name, args, &b.benchFlags)
	f := newFlags(name, benchIOUsage)
	jobFlagsOf(f, &b.base)
	f.StringArrayVar(&b.jobs, "job", nil, "a `JOB` to compare, 'NAME: FLAGS' or 'FLAGS', with the flags above; repeat it for several. The flags outside hold for all")
	f.StringVar(&b.file, "file", "", "work on this existing `FILE` or block device")
	f.BoolVar(&b.overwrite, "overwrite", false, "let jobs write to --file, which destroys its content")
	d.timeFlag(f, "`TIME` that each job is measured, all its blocks together")
	f.Int64Var(&b.ops, "ops", 0, "`NUMBER` of operations of each block, in place of --time")
	f.BoolVar(&b.list, "list", false, "list the jobs and their promises; measure nothing")
	b.take(f, append(slices.Clone(jobFlags), "against")...)
	if code, done := parse(f, args, d.wrong, stdout, stderr); done {
		return code
	}
	b.sized = f.Changed("size")
	toStdout, err := d.check(f)
	var spec iojob.Spec
	if err == nil {
		spec, err = b.spec(f)
	}
	var e lab.Experiment
	if err == nil {
		e, err = spec.Experiment()
	}
	if err != nil {
		return usageError(stderr, name, d.wrong, err)
	}
	if b.list {
		selection{experiments: []lab.Experiment{e}}.list(stdout)
		return exitOK
	}
	d.prepare = func(ctx context.Context, places []lab.PlaceSpec, show *meter) (lab.Experiment, func() error, error) {
		return layOut(ctx, spec, places, show)
	}
	d.after = ioTable
	return d.run(ctx, toStdout, stdout, stderr)
}

// spec returns the jobs that the call describes.
func (b *ioFlags) spec(f *pflag.FlagSet) (iojob.Spec, error) {
	var s iojob.Spec
	if err := argCount(f, "JOBFILE", 0, 1); err != nil {
		return s, err
	}
	if err := b.checkFile(f); err != nil {
		return s, err
	}
	if err := setting.AtLeast("--ops", b.ops, 0); err != nil {
		return s, err
	}
	if b.ops > 0 && f.Changed("time") {
		return s, errors.New("--ops and --time: want one of them")
	}
	jobs, err := b.describe(f.Args())
	if err != nil {
		return s, err
	}
	s = iojob.Spec{Jobs: jobs, Ops: b.ops}
	if b.file == "" {
		return s, iojob.Validate(jobs)
	}
	s.File, err = filepath.Abs(b.file)
	return s, err
}

// describe returns the jobs of the file, of --job, or of the flags alone.
func (b *ioFlags) describe(args []string) ([]iojob.Job, error) {
	var jobs []iojob.Job
	if len(args) == 1 {
		f, err := os.Open(args[0])
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if jobs, err = iojob.ParseFile(f, args[0], b.base); err != nil {
			return nil, err
		}
	}
	for _, text := range b.jobs {
		j, err := parseJob(text, b.base)
		if err != nil {
			return nil, fmt.Errorf("--job %q: %w", text, err)
		}
		jobs = append(jobs, j)
	}
	if len(jobs) == 0 {
		jobs = []iojob.Job{b.base}
	}
	for i := range jobs {
		if jobs[i].Name == "" {
			jobs[i].Name = jobs[i].Label()
		}
	}
	return jobs, b.sizeByFile(jobs)
}

// parseJob parses "NAME: FLAGS" or "FLAGS".
func parseJob(text string, base iojob.Job) (iojob.Job, error) {
	j := base
	name, flags, named := strings.Cut(text, ":")
	if named && !strings.Contains(name, "--") {
		j.Name = strings.TrimSpace(name)
	} else {
		flags = text
	}
	f := newFlags("job", "")
	jobFlagsOf(f, &j)
	if err := f.Parse(strings.Fields(flags)); err != nil {
		return j, flagError(f, err)
	}
	if f.NArg() > 0 {
		return j, setting.Wrong("argument", f.Arg(0), "flags of a job such as --depth 16")
	}
	return j, nil
}

// checkFile refuses flags that contradict --file, and writing to it unless that is
// asked for.
func (b *ioFlags) checkFile(f *pflag.FlagSet) error {
	if b.file == "" {
		if b.overwrite {
			return errors.New("--overwrite: want --file with it")
		}
		return nil
	}
	for _, other := range []string{"dir", "fs", "volume"} {
		if f.Changed(other) {
			return fmt.Errorf("--file and --%s: want one of them", other)
		}
	}
	st, err := os.Stat(b.file)
	switch {
	case err != nil && !b.list:
		return fmt.Errorf("--file: %w", err)
	case err == nil && st.Mode().IsRegular():
		b.dirs = []string{filepath.Dir(b.file)} // the place that the report describes
	case err == nil && (st.Mode()&os.ModeDevice == 0 || st.Mode()&os.ModeCharDevice != 0):
		return setting.Wrong("--file", b.file, "a file or a block device")
	case err == nil:
		b.device, err = filepath.Abs(b.file)
		return err
	}
	return nil
}

// sizeByFile gives jobs on --file its size, and refuses those that would write to it
// without leave, or to a device in use.
func (b *ioFlags) sizeByFile(jobs []iojob.Job) error {
	if b.file == "" {
		return nil
	}
	size, err := iojob.SizeOf(b.file)
	if err != nil {
		if b.list && errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("--file: %w", err)
	}
	for i := range jobs {
		j := &jobs[i]
		if j.Grow {
			return setting.Wrong("--rw", "append", "another kind with --file: a job that appends makes files of its own")
		}
		if !b.sized && j.Size == iojob.New().Size {
			j.Size = size
		}
		if j.Size > size {
			return setting.Wrong("--size", setting.Bytes(j.Size), "at most the %s of %s", units.Size(size), b.file)
		}
		if !j.Writes() {
			continue
		}
		if !b.overwrite {
			return fmt.Errorf("--file: job %q would write to %s; want --overwrite, which destroys its content", j.Name, b.file)
		}
		// The kernel refuses O_EXCL for a block device that is mounted or part of another.
		f, err := os.OpenFile(b.file, os.O_WRONLY|os.O_EXCL, 0)
		if err != nil {
			return fmt.Errorf("--file: %w; want a file that can be written, or a block device that is not in use", err)
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("--file: %w", err)
		}
	}
	return iojob.Validate(jobs)
}

// layOut writes the files of the jobs in each place, and shows how far it is.
func layOut(ctx context.Context, spec iojob.Spec, places []lab.PlaceSpec, show *meter) (lab.Experiment, func() error, error) {
	var made []func() error
	if spec.File == "" {
		spec.Dirs = map[string]string{}
		for _, place := range places {
			dir, err := scratch.Dir(place.Dir)
			if err != nil {
				return lab.Experiment{}, joinCleanups(made), fmt.Errorf("make a directory in %s for the file: %w", place.Dir, err)
			}
			made = append(made, dir.Close)
			// dir.Path is free of symlinks, as that of a block is.
			spec.Dirs[filepath.Dir(filepath.Dir(dir.Path))] = dir.Path
			if err := iojob.Layout(ctx, dir.Path, spec.Jobs, showLayout(show, place)); err != nil {
				return lab.Experiment{}, joinCleanups(made), err
			}
		}
	}
	e, err := spec.Experiment()
	return e, joinCleanups(made), err
}

func showLayout(show *meter, place lab.PlaceSpec) func(done, of int64) {
	begun, first := time.Now(), true
	return func(done, of int64) {
		e := lab.Event{Kind: "prepare", Place: place.Name, Elapsed: run.Nanos(time.Since(begun)), Share: float64(done) / float64(of)}
		show.show(first, e, func() string {
			return fmt.Sprintf("writes the file of the jobs: %.0f %% of %s", 100*e.Share, units.Decimal(float64(of)))
		})
		first = false
	}
}

// ioTable writes the figures of each job as fio's users know them, and notes which do not
// keep up with their rate.
func ioTable(measured *run.Run, w io.Writer) {
	for _, res := range measured.Results {
		measured.Notes = append(measured.Notes, iojob.Behind(res)...)
		rows := [][]string{{"job", "ops/s", "MB/s", "p50", "p99", "p99.9", "survives"}}
		for i := range res.Variants {
			v := &res.Variants[i]
			if v.Error != "" {
				continue // the report has it
			}
			rows = append(rows, append([]string{v.Name}, ioFigures(v)...))
		}
		if len(rows) == 1 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n\n", res.Place)
		writeColumns(w, rows)
		fmt.Fprintln(w)
	}
}

func ioFigures(v *run.VariantResult) []string {
	out := []string{fmt.Sprintf("%.0f", v.OpsPerSecond.Median), "-"}
	if m, ok := v.Metrics["bytes_per_second"]; ok && m.N > 0 {
		out[1] = fmt.Sprintf("%.1f", m.Median/1e6)
	}
	for _, p := range []float64{50, 99, 99.9} {
		out = append(out, latencyText(v, p))
	}
	return append(out, survivesWord(v))
}

// survivesWord is what an operation survives where it was measured, in the words of the
// table at the end.
func survivesWord(v *run.VariantResult) string {
	switch {
	case !v.Here.Writes():
		return "no writes"
	case v.Here.Level == durability.Power:
		return "power cut"
	case v.Here.Level == durability.Kill:
		return "kill -9"
	}
	return "nothing"
}

// shortTime writes nanoseconds with three digits.
func shortTime(ns float64) string {
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		if ns >= u.ns {
			return fmt.Sprintf("%.3g %s", ns/u.ns, u.name)
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// mostName is the widest name that stands in the line of its figures.
const mostName = 30

// writeColumns writes rows with the first and the last column to the left, the others
// to the right. A long name has a line of its own.
func writeColumns(w io.Writer, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			if n := len([]rune(c)); i > 0 || n <= mostName {
				width[i] = max(width[i], n)
			}
		}
	}
	for _, r := range rows {
		var line strings.Builder
		for i, c := range r {
			if i == 0 && len([]rune(c)) > width[0] {
				fmt.Fprintln(w, c)
				c = ""
			}
			pad := strings.Repeat(" ", width[i]-len([]rune(c)))
			switch {
			case i == 0:
				line.WriteString(c + pad)
			case i == len(r)-1:
				line.WriteString("  " + c)
			default:
				line.WriteString("  " + pad + c)
			}
		}
		fmt.Fprintln(w, line.String())
	}
}
