package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
)

const compareUsage = `Usage: stele compare OLD.json NEW.json [flags]
       stele compare [flags] OLD.json ... -- NEW.json ...
       stele compare RUN.json [flags]
       stele compare --history DIR [flags]

Compares new runs with old ones, all written by 'stele bench --json': a gate for
CI. RUN.json is a run of 'stele bench --against', which holds both builds.

A machine that becomes slower between two runs slows everything, so a time is
judged by its ratio to the baseline's in the same rounds: how that ratio has
changed, new to old, with a 95 % interval. The baseline, which the experiment
marks, is best code that does not change, the standard library's way for
example; the others are the code under test. A baseline itself is not judged.
--absolute judges every figure by itself, and the machine with it. Counts, such
as allocs_per_op, always are.

Differences between two runs other than those that all variants share are in the
interval only with several runs a side: three or more each, before and after --.
'stele bench --against' measures two builds in one run and needs none of this.

--history reads all runs of a directory (*.json) in the order of their times, and
shows each variant's ratio to its baseline over them, with the places where it
changes: from eight runs on, and in 5 % of histories without a change at most. It
is no gate: exit code 0, or 3 if a file cannot be read.

Exit codes: 0 no figure is worse by more than its tolerance; 1 at least one is;
2 the data cannot tell; 3 the call is wrong, or the runs cannot be compared: they
are unreadable, incomplete, or of different experiments, promises, environments
or block times (unless --force).

Examples:
  stele compare old.json new.json
  stele compare old.json new.json --tolerance time=0.03,p99=0.2,allocs_per_op=0
  stele compare old.json new.json --absolute --markdown comment.md
  stele compare --force main-1.json main-2.json -- new-1.json new-2.json
  stele compare --history runs --svg history.svg --markdown history.md
`

// gateFlags are the flags of compare.
type gateFlags struct {
	tolerances         []string
	force, absolute    bool
	jsonFile, markdown string
	history, svg       string
}

func (g *gateFlags) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&g.tolerances, "tolerance", nil, "how much worse a metric may get, as `METRIC=SHARE`: time (default 0.05, 5 %), p99, allocs_per_op, ...")
	f.BoolVar(&g.absolute, "absolute", false, "judge each time by itself and not by its ratio to the baseline's; a change of the machine counts too")
	f.BoolVar(&g.force, "force", false, "compare even if experiments, promises or environments differ, and list the differences")
	f.StringVar(&g.jsonFile, "json", "", "write the comparison as JSON to `FILE` instead; - is standard output")
	f.StringVar(&g.markdown, "markdown", "", "write it as Markdown, for a comment on a pull request, to `FILE` too; - is standard output")
	f.StringVar(&g.history, "history", "", "show the history of the runs in `DIR` instead")
	f.StringVar(&g.svg, "svg", "", "draw the history as a picture, in SVG, to `FILE` too; - is standard output")
}

func compare(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele compare", compareUsage)
	broken := run.Broken.ExitCode()
	var g gateFlags
	g.flags(f)
	if code, done := parse(f, args, broken, stdout, stderr); done {
		return code
	}
	limits, err := parseTolerances(g.tolerances)
	var old, new []string
	if err == nil {
		err = g.check(f)
	}
	if err == nil && g.history == "" {
		old, new, err = sides(f)
	}
	if err == nil {
		_, err = checkOutputs(output{"--json", g.jsonFile}, output{"--markdown", g.markdown}, output{"--svg", g.svg})
	}
	if err != nil {
		return usageError(stderr, "stele compare", broken, err)
	}
	if g.history != "" {
		if err := g.showHistory(ctx, stdout); err != nil {
			complain(stderr, "stele compare", err)
			return broken
		}
		return exitOK
	}
	oldRuns, errOld := readRuns(ctx, old, stdin)
	newRuns, errNew := readRuns(ctx, new, stdin)
	if err := errors.Join(errOld, errNew); err != nil {
		complain(stderr, "stele compare", err)
		return broken
	}
	o := run.CompareOptions{Tolerance: limits, Force: g.force, Absolute: g.absolute}
	var r *run.CompareReport
	if len(old) == 0 {
		r = newRuns[0].CompareBuilds(o)
	} else {
		r = run.Compare(oldRuns, newRuns, o)
	}
	for _, p := range r.Problems {
		fmt.Fprintln(stderr, "stele compare:", report.Mismatch(&p))
	}
	if err := g.write(r, stdout); err != nil {
		complain(stderr, "stele compare", err)
		return broken
	}
	return r.Outcome.ExitCode()
}

// write writes every output. The text is left out where another output is asked for
// on standard output, or JSON is.
func (g *gateFlags) write(r *run.CompareReport, stdout io.Writer) error {
	var errs []error
	if g.jsonFile == "" && g.markdown != "-" {
		errs = append(errs, report.Comparison(stdout, r))
	}
	if g.jsonFile != "" {
		errs = append(errs, writeJSON(g.jsonFile, stdout, r))
	}
	if g.markdown != "" {
		errs = append(errs, writeFile(g.markdown, stdout, func(w io.Writer) error { return report.ComparisonMarkdown(w, r) }))
	}
	return errors.Join(errs...)
}

// sides returns the files of the old runs and of the new ones. A single file is a new
// one.
func sides(f *pflag.FlagSet) (old, new []string, err error) {
	const name = "OLD.json NEW.json"
	args := f.Args()
	n := f.ArgsLenAtDash()
	if n < 0 {
		if err := argCount(f, name, 1, 2); err != nil {
			return nil, nil, fmt.Errorf("%w, or several files on each side of --", err)
		}
		n = len(args) - 1
	} else if n == 0 || n == len(args) {
		return nil, nil, setting.Wrong("OLD.json ... -- NEW.json ...", setting.Text(strings.Join(args, " ")), "at least one file on each side of --")
	}
	if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") && a != "-" }); i >= 0 {
		return nil, nil, setting.Wrong("NEW.json", args[i], "flags before --")
	}
	if i := slices.Index(args, "-"); i >= 0 && slices.Contains(args[i+1:], "-") {
		return nil, nil, setting.Wrong(name, "-", "one run from standard input at most")
	}
	return args[:n], args[n:], nil
}

func readRuns(ctx context.Context, names []string, stdin io.Reader) (runs []*run.Run, err error) {
	var errs []error
	for _, name := range names {
		r, err := readRun(ctx, name, stdin)
		runs, errs = append(runs, r), append(errs, err)
	}
	return runs, errors.Join(errs...)
}

func parseTolerances(args []string) (map[string]float64, error) {
	limits := map[string]float64{}
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		share, err := strconv.ParseFloat(value, 64)
		if !ok || name == "" || err != nil || !(share >= 0) || math.IsInf(share, 1) {
			return nil, setting.Wrong("--tolerance", a, "METRIC=SHARE such as time=0.05, a share of 0 or more")
		}
		limits[name] = share
	}
	return limits, nil
}
