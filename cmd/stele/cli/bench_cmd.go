package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/cmdjob"
)

const benchCmdUsage = `Usage: stele bench cmd COMMAND... [flags]

Measures commands, each a line for sh -c, as hyperfine does. The report has the
system calls of each, and says whether its writes survive a crash. The runs of all
commands are interleaved in shuffled blocks. Each run starts in a fresh, empty
directory on the disk that is measured; $STELE_DIR names it. --prepare makes the
files there that a command needs, or the command uses absolute paths.

One run of each command beforehand shows its system calls, those of all processes
that it starts included. The report derives from them what survives, and says so: a
command that syncs each file after its last write may survive a power cut, any
other that writes survives kill -9. Nothing checks that a command syncs all that
its job needs. A command that syncs is compared with one that does not only with
--mix-levels.

A run includes the start of the shell. The report gives the time of that and does
not subtract it; --no-shell starts the program itself.

Exit codes are those of 'stele bench': 1 if a command failed.

Examples:
  stele bench cmd 'cp -r /etc/skel x' 'mkdir x && tar -C /etc/skel -cf - . | tar -C x -xf -'
  stele bench cmd --prepare 'head -c 1M /dev/urandom >f' 'gzip -1 f' 'gzip -9 f'
  stele bench cmd --name plain 'dd if=/dev/zero of=f bs=1M count=9' --name synced 'dd if=/dev/zero of=f bs=1M count=9 conv=fsync' --mix-levels
  stele bench cmd --no-shell 'mkdir -p a/b/c/d' --time 20s --json run.json
`

// cmdFlags are the flags of bench cmd.
type cmdFlags struct {
	benchFlags
	prepare, cleanup, names []string
	noShell, ignore         bool
	runs                    int64
}

func benchCmd(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	const name = "stele bench cmd"
	var b cmdFlags
	d := newDescribed(name, args, &b.benchFlags)
	f := newFlags(name, benchCmdUsage)
	f.StringArrayVar(&b.names, "name", nil, "`NAME` of a command in the report, in the order of the commands")
	f.StringArrayVar(&b.prepare, "prepare", nil, "run this `COMMAND` in the same directory before each run, untimed; repeat it for one of each command")
	f.StringArrayVar(&b.cleanup, "cleanup", nil, "run this `COMMAND` in the same directory after each run, untimed; repeat it for one of each command")
	f.BoolVar(&b.noShell, "no-shell", false, "start the programs themselves: a line is split at spaces outside of quotes")
	f.BoolVar(&b.ignore, "ignore-failure", false, "measure commands with an exit code other than 0 too")
	d.timeFlag(f, "`TIME` that each command is measured, all its blocks together; a block has one run at least")
	f.Int64Var(&b.runs, "runs", 0, "`NUMBER` of runs of each block, in place of --time")
	f.BoolVar(&b.list, "list", false, "list the commands; run nothing")
	b.take(f, jobFlags...)
	if code, done := parse(f, args, d.wrong, stdout, stderr); done {
		return code
	}
	toStdout, err := d.check(f)
	var spec cmdjob.Spec
	if err == nil {
		spec, err = b.spec(f)
	}
	if err == nil && !b.list {
		err = spec.Validate()
	}
	if err != nil {
		return usageError(stderr, name, d.wrong, err)
	}
	if b.list {
		for _, c := range spec.Commands {
			fmt.Fprintf(stdout, "%s: %s\n", c.Name, c.Line)
		}
		return exitOK
	}
	var kept cmdjob.Spec
	d.prepare = func(ctx context.Context, places []lab.PlaceSpec, show *meter) (lab.Experiment, func() error, error) {
		e, tried, err := tryCommands(ctx, spec, places[0], show)
		kept = tried
		return e, noCleanup, err
	}
	d.after = func(measured *run.Run, w io.Writer) { noteCommands(ctx, measured, kept, w) }
	return d.run(ctx, toStdout, stdout, stderr)
}

// spec returns the commands that the call describes.
func (b *cmdFlags) spec(f *pflag.FlagSet) (cmdjob.Spec, error) {
	s := cmdjob.Spec{NoShell: b.noShell, IgnoreFailure: b.ignore, Ops: b.runs}
	if err := setting.AtLeast("--runs", b.runs, 0); err != nil {
		return s, err
	}
	if b.runs > 0 && f.Changed("time") {
		return s, fmt.Errorf("--runs and --time: want one of them")
	}
	n := f.NArg()
	if n == 0 {
		return s, setting.Wrong("COMMAND", setting.Text("none"), "one or more, each in quotes")
	}
	for _, l := range []struct {
		flag string
		all  []string
	}{{"--prepare", b.prepare}, {"--cleanup", b.cleanup}} {
		if len(l.all) > 1 && len(l.all) != n {
			return s, setting.Wrong(l.flag, setting.Text(fmt.Sprintf("%d times", len(l.all))), "once, or as often as there are commands: %d", n)
		}
	}
	if len(b.names) > n {
		return s, setting.Wrong("--name", setting.Text(fmt.Sprintf("%d times", len(b.names))), "at most as often as there are commands: %d", n)
	}
	for i, line := range f.Args() {
		c := cmdjob.Command{Name: line, Line: line, Prepare: nth(b.prepare, i), Cleanup: nth(b.cleanup, i)}
		if i < len(b.names) {
			c.Name = b.names[i]
		}
		s.Commands = append(s.Commands, c)
	}
	return s, nil
}

// nth returns element i of a list that may have one element for all.
func nth(list []string, i int) string {
	switch {
	case len(list) == 0:
		return ""
	case len(list) == 1:
		return list[0]
	}
	return list[i]
}

// tryCommands runs each command once in a place, to see what it does.
func tryCommands(ctx context.Context, spec cmdjob.Spec, place lab.PlaceSpec, show *meter) (lab.Experiment, cmdjob.Spec, error) {
	show.show(true, lab.Event{Kind: "prepare", Place: place.Name}, func() string { return "runs each command once, to see its system calls" })
	dir, err := scratch.Dir(place.Dir)
	if err != nil {
		return lab.Experiment{}, spec, fmt.Errorf("make a directory in %s: %w", place.Dir, err)
	}
	tried, err := spec.Try(ctx, dir.Path)
	if closing := dir.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return lab.Experiment{}, spec, err
	}
	e, err := tried.Experiment()
	return e, tried, err
}

// noteCommands tells what survives of each command, and the cost of the shell.
func noteCommands(ctx context.Context, measured *run.Run, spec cmdjob.Spec, w io.Writer) {
	for _, res := range measured.Results {
		rows := [][]string{{"command", "time", "p99", "user", "system", "memory", "calls", "survives"}}
		var kept []string
		for i := range res.Variants {
			v := &res.Variants[i]
			if v.Error == "" {
				text := spec.Commands[i].Kept.Text
				if len(v.Capped) > 0 {
					text += "; " + survivesHere(v)
				}
				kept = append(kept, v.Name+": "+text)
				rows = append(rows, append([]string{v.Name}, append(commandFigures(v), survivesWord(v))...))
			}
		}
		if len(rows) > 1 {
			fmt.Fprintf(w, "\n%s\n\n", res.Place)
			writeColumns(w, rows)
			fmt.Fprintf(w, "\nWhat survives, derived from the system calls of one run:\n  %s\n\n", strings.Join(kept, "\n  "))
		}
	}
	if spec.NoShell {
		return
	}
	if took, err := cmdjob.ShellTime(ctx); err == nil {
		measured.Notes = append(measured.Notes, run.Note{Code: run.NoteShell, N: int64(took)})
	}
}

func commandFigures(v *run.VariantResult) []string {
	out := []string{shortTime(v.Time.Median), latencyText(v, 99)}
	for _, name := range []string{"cpu_user_ns_per_op", "cpu_sys_ns_per_op"} {
		out = append(out, metricText(v, name, shortTime))
	}
	return append(out,
		metricText(v, "peak_rss_bytes", func(x float64) string { return fmt.Sprintf("%.1f MB", x/1e6) }),
		metricText(v, run.MetricSyscalls, func(x float64) string { return fmt.Sprintf("%.0f", x) }))
}

func metricText(v *run.VariantResult, name string, text func(float64) string) string {
	m, ok := v.Metrics[name]
	if !ok || m.N == 0 {
		return "-"
	}
	return text(m.Median)
}

// latencyText returns a percentile of single operations, or "-" where there are too
// few.
func latencyText(v *run.VariantResult, p float64) string {
	for _, l := range v.Latency {
		if l.P == p && l.Err() == nil {
			return shortTime(l.NS)
		}
	}
	return "-"
}
