// Command gatetest tries the gate on programs of which it knows what it should say. It
// builds a small job of package lab many times: with unchanged work, and with more of it.
// Each build is judged against the old one, by "stele bench --against" (both builds in
// the same rounds) and by "stele compare" (each in a run of its own), with as many rounds
// as a first measurement of two unchanged builds asks for.
//
//	go run ./tools/gatetest -builds 20 -slower 0.15
//
// It exits with 0 if no unchanged build is called slower and nine of ten of the slower
// ones are. It needs a quiet machine: it prints the noise of the blocks.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/stele-go/stele/lab/run"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the settings of a trial.
type options struct {
	builds    int
	slower    float64
	pilot     int
	most      int
	blockTime time.Duration
	dir       string
	modes     []mode
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("gatetest", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.builds, "builds", 20, "unchanged builds, and as many slower ones")
	f.Float64Var(&o.slower, "slower", 0.15, "the `share` of work that a slower build has more")
	f.IntVar(&o.pilot, "pilot", 12, "rounds of the first measurement, which says how many are needed")
	f.IntVar(&o.most, "most", 200, "rounds at most")
	f.DurationVar(&o.blockTime, "block-time", 100*time.Millisecond, "time of a block")
	f.StringVar(&o.dir, "dir", "", "the `directory` to measure in (default a temporary one)")
	only := f.String("only", "", "one gate alone: against or compare")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for _, m := range modes {
		if *only == "" || *only == m.name {
			o.modes = append(o.modes, m)
		}
	}
	switch {
	case len(o.modes) == 0:
		err = fmt.Errorf("-only: %q; want against or compare", *only)
	case o.builds < 1:
		err = fmt.Errorf("-builds: %d; want 1 or more", o.builds)
	case !(o.slower > 0) || math.IsInf(o.slower, 1):
		err = fmt.Errorf("-slower: %v; want a share above 0", o.slower)
	case o.pilot < 6 || o.most < o.pilot:
		err = fmt.Errorf("-pilot: %d; want 6 to -most (%d)", o.pilot, o.most)
	}
	if err != nil {
		fmt.Fprintln(stderr, "gatetest:", err)
	}
	return o, err
}

func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	good, err := trial(ctx, o, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "gatetest:", err)
		return 1
	}
	if !good {
		return 1
	}
	return 0
}

// trial judges all builds by each gate, and reports whether the verdicts are good.
func trial(ctx context.Context, o options, out io.Writer) (good bool, err error) {
	work, err := os.MkdirTemp("", "gatetest-*")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	if o.dir == "" {
		o.dir = work
	}
	old, err := build(ctx, work, "old", 0)
	if err != nil {
		return false, err
	}
	same, err := build(ctx, work, "pilot", 0)
	if err != nil {
		return false, err
	}
	good = true
	for _, m := range o.modes {
		g := gate{ctx: ctx, o: o, old: old, judge: m.judge}
		first, err := g.judge(&g, same, o.pilot)
		if err != nil {
			return false, err
		}
		rounds := min(max(first.PassRounds, 6), o.most)
		fmt.Fprintf(out, "%s: %d rounds asked for by %d", m.name, first.PassRounds, o.pilot)
		if rounds != first.PassRounds {
			fmt.Fprintf(out, ", %d run", rounds)
		}
		fmt.Fprintln(out)
		alarms, err := g.judgeAll(work, "unchanged", 0, rounds)
		if err != nil {
			return false, err
		}
		found, err := g.judgeAll(work, "slower", o.slower, rounds)
		if err != nil {
			return false, err
		}
		fmt.Fprintf(out, "%s: noise of a block %.1f %% (the median of the runs)\n", m.name, 100*g.medianNoise())
		fmt.Fprintf(out, "%s: %d unchanged builds: %s\n", m.name, o.builds, counts(alarms))
		fmt.Fprintf(out, "%s: %d builds with %g %% more work: %s\n", m.name, o.builds, 100*o.slower, counts(found))
		good = good && alarms[run.Regression]+alarms[run.Broken] == 0 && found[run.Regression]*10 >= o.builds*9
	}
	return good, nil
}

// counts words the outcomes of several builds.
func counts(n map[run.Outcome]int) string {
	return fmt.Sprintf("%d pass, %d inconclusive, %d regression, %d broken", n[run.Pass], n[run.Inconclusive], n[run.Regression], n[run.Broken])
}

// build builds the job with that share of work more, as a program of its own.
func build(ctx context.Context, work, name string, slower float64) (string, error) {
	path := filepath.Join(work, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "-ldflags", fmt.Sprintf("-X main.slower=%g -X main.build=%s", slower, name), "github.com/stele-go/stele/tools/gatetest/job")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the job: %w: %s", err, out)
	}
	return path, nil
}

// A gate judges builds against the old one.
type gate struct {
	ctx   context.Context
	o     options
	old   string
	judge func(g *gate, program string, rounds int) (*run.CompareReport, error)
	noise []float64 // of each run
}

// A mode is a way of judging.
type mode struct {
	name  string
	judge func(g *gate, program string, rounds int) (*run.CompareReport, error)
}

var modes = []mode{{"against", (*gate).against}, {"compare", (*gate).compare}}

// judgeAll builds and judges the builds with that share of work more.
func (g *gate) judgeAll(work, name string, slower float64, rounds int) (map[run.Outcome]int, error) {
	count := map[run.Outcome]int{}
	for i := range g.o.builds {
		program, err := build(g.ctx, work, fmt.Sprintf("%s-%d", name, i), slower)
		if err != nil {
			return nil, err
		}
		r, err := g.judge(g, program, rounds)
		if err != nil {
			return nil, err
		}
		count[outcomeOf(r)]++
		if err := os.Remove(program); err != nil {
			return nil, err
		}
	}
	return count, nil
}

// outcomeOf is the outcome of the variant under test: that of the other one, which no
// build changes, is a second chance for a false alarm, and worse than a pass counts.
func outcomeOf(r *run.CompareReport) run.Outcome {
	if len(r.Problems) > 0 {
		return run.Broken
	}
	outcome := run.Broken
	for _, row := range r.Rows {
		switch row.Variant {
		case "mine":
			outcome = row.Outcome
		case "standard":
			if row.Outcome == run.Regression {
				return run.Regression
			}
		}
	}
	return outcome
}

// against measures a build and the old one in the same rounds.
func (g *gate) against(program string, rounds int) (*run.CompareReport, error) {
	r, err := g.measure(program, rounds, "-against", g.old)
	if err != nil {
		return nil, err
	}
	return r.Gate, nil
}

// compare measures the old build and this one in two runs.
func (g *gate) compare(program string, rounds int) (*run.CompareReport, error) {
	old, err := g.measure(g.old, rounds)
	if err != nil {
		return nil, err
	}
	now, err := g.measure(program, rounds)
	if err != nil {
		return nil, err
	}
	return run.Compare([]*run.Run{old}, []*run.Run{now}, run.CompareOptions{}), nil
}

func (g *gate) measure(program string, rounds int, more ...string) (*run.Run, error) {
	args := append([]string{"-rounds", fmt.Sprint(rounds), "-block-time", g.o.blockTime.String(), "-dir", g.o.dir}, more...)
	cmd := exec.CommandContext(g.ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", program, err, diag.Bytes())
	}
	r, err := run.Read(&out)
	if err != nil {
		return nil, err
	}
	g.noise = append(g.noise, noiseOf(r))
	return r, nil
}

// noiseOf is the noise of one block: the median distance of the blocks of a variant
// from their median, as a standard deviation, the larger of the variants.
func noiseOf(r *run.Run) (noise float64) {
	times := map[string][]float64{}
	for _, res := range r.Results {
		for i := range res.Blocks {
			if b := &res.Blocks[i]; b.Role == run.RoleTimed && b.Error == "" {
				times[b.Variant] = append(times[b.Variant], math.Log(b.PerOp()))
			}
		}
	}
	for _, x := range times {
		m := median(x)
		var d []float64
		for _, v := range x {
			d = append(d, math.Abs(v-m))
		}
		noise = max(noise, 1.4826*median(d)) // of a normal distribution
	}
	return noise
}

func (g *gate) medianNoise() float64 { return median(g.noise) }

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
