package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
)

const compareUsage = `Usage: stele compare OLD.json NEW.json [flags]

Compares a new run with an old one, both written by 'stele bench --json': a gate
for CI. The change of a figure is the ratio of its medians, new to old, with a
95 % interval. The interval does not cover other changes of the machine between
the runs; measure both in one job if you can.

Exit codes: 0 no figure is worse by more than its tolerance; 1 at least one is;
2 the data cannot tell; 3 the call is wrong, or the runs cannot be compared: they
are unreadable, incomplete, or of different experiments, promises, environments
or block times (unless --force).

Examples:
  stele compare old.json new.json
  stele compare old.json new.json --tolerance time=0.03,allocs_per_op=0
  stele compare old.json new.json --force --json -
`

func compare(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("compare", compareUsage)
	broken := run.Broken.ExitCode()
	tolerances := f.StringSlice("tolerance", nil, "how much worse a metric may get, as `METRIC=SHARE`: time (default 0.05, 5 %), p99, allocs_per_op, ...")
	force := f.Bool("force", false, "compare even if experiments, promises or environments differ, and list the differences")
	file := f.String("json", "", "write the comparison as JSON to `FILE` instead; - is standard output")
	if code, done := parse(f, args, broken, stdout, stderr); done {
		return code
	}
	limits, err := parseTolerances(*tolerances)
	if err == nil {
		err = argCount(f, "OLD.json NEW.json", 2, 2)
	}
	if err != nil {
		return usageError(stderr, "compare", broken, err)
	}
	old, errOld := readRun(ctx, f.Arg(0), stdin)
	new, errNew := readRun(ctx, f.Arg(1), stdin)
	if err := errors.Join(errOld, errNew); err != nil {
		complain(stderr, "compare", err)
		return broken
	}
	r := run.Compare(old, new, run.CompareOptions{Tolerance: limits, Force: *force})
	if *file == "" {
		err = report.Comparison(stdout, r)
	} else {
		err = writeJSON(*file, stdout, r)
	}
	for _, p := range r.Problems {
		fmt.Fprintln(stderr, "stele compare:", report.Mismatch(&p))
	}
	if err != nil {
		complain(stderr, "compare", err)
		return broken
	}
	return r.Outcome.ExitCode()
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
