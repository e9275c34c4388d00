package run

import (
	"math"
	"os"
	"testing"
	"time"
)

// simulations is how often a simulation is repeated: n times, and 20 n with STELE_LONG.
func simulations(n int) int {
	if os.Getenv("STELE_LONG") != "" {
		return 20 * n
	}
	return n
}

func between(old, new *Run, o CompareOptions) *CompareReport {
	return Compare([]*Run{old}, []*Run{new}, o)
}

// shifted is a run whose machine takes factor times as long for everything.
func shifted(r *Run, factor float64) *Run {
	for i := range r.Results[0].Blocks {
		b := &r.Results[0].Blocks[i]
		b.Wall = Nanos(float64(b.Wall) * factor)
	}
	return r
}

// Figures in time are judged by their ratio to the baseline's, counts by themselves, and
// a baseline not at all.
func TestCompareBesideTheBaseline(t *testing.T) {
	run := func(a, b, allocs float64) *Run {
		r := exactRun(8, named(killPrefix, "a", "b"), map[string]float64{"a": a, "b": b})
		for i := range r.Results[0].Blocks {
			r.Results[0].Blocks[i].Metrics = map[string]float64{"allocs_per_op": allocs}
		}
		return r
	}
	o := CompareOptions{Tolerance: map[string]float64{"allocs_per_op": 0}}
	got := between(run(100, 50, 3), run(120, 60, 3), o) // all of it takes 1.2 times as long
	outcome(t, got, Pass, 0)
	a, b := got.Rows[1], got.Rows[3]
	if a.Variant != "a" || a.Outcome != NotJudged || a.Why != WhyBaseline || math.Abs(a.Ratio.Median-1.2) > 1e-9 || a.Baseline != "" {
		t.Errorf("the baseline: %+v", a)
	}
	if b.Variant != "b" || b.Baseline != "a" || math.Abs(b.Ratio.Median-1) > 1e-9 || b.Old.Median != 50 || b.New.Median != 60 {
		t.Errorf("beside it: %+v", b)
	}
	if count := got.Rows[0]; count.Metric != "allocs_per_op" || count.Baseline != "" || count.Outcome != Pass {
		t.Errorf("a count: %+v", count)
	}
	outcome(t, between(run(100, 50, 3), run(120, 66, 3), o), Regression, 1)
	outcome(t, between(run(100, 50, 3), run(120, 60, 4), o), Regression, 1)
	o.Absolute = true
	outcome(t, between(run(100, 50, 3), run(120, 60, 3), o), Regression, 1)
}

// A variant without a baseline, or with another one than it had, is not passed.
func TestCompareWithoutABaseline(t *testing.T) {
	one := func() *Run { return exactRun(8, named(killPrefix, "a"), map[string]float64{"a": 100}) }
	got := between(one(), one(), CompareOptions{})
	outcome(t, got, Inconclusive, 2)
	if got.Rows[0].Why != WhyNoBaseline {
		t.Errorf("a single variant: %+v", got.Rows[0])
	}
	outcome(t, between(one(), one(), CompareOptions{Absolute: true}), Pass, 0)

	ns := map[string]float64{"a": 100, "b": 100, "c": 100}
	old, new := exactRun(8, named(killPrefix, "a", "b"), ns), exactRun(8, named(killPrefix, "c", "b"), ns)
	got = between(old, new, CompareOptions{Force: true})
	outcome(t, got, Inconclusive, 2)
	if got.Rows[0].Variant != "b" || got.Rows[0].Why != WhyNoBaseline {
		t.Errorf("another baseline: %+v", got.Rows[0])
	}
}

// A run against itself is a ratio of exactly 1, with any noise and from one round.
func TestCompareARunWithItself(t *testing.T) {
	for _, rounds := range []int{1, 2, 20} {
		r := simulated(3, rounds, newDisk(3, 0.5), 1.3)
		r.Started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		again := *r // as if read from the same file once more
		for _, o := range []CompareOptions{{}, {Absolute: true}} {
			got := between(r, &again, o)
			outcome(t, got, Pass, 0)
			for _, row := range got.Rows {
				if row.Outcome == Pass && (row.Ratio.Median != 1 || row.Ratio.Lo != 1 || row.Ratio.Hi != 1 || row.Why != WhySame) {
					t.Errorf("%d rounds: %+v", rounds, row)
				}
			}
		}
	}
}

// Where the whole machine is 5 % slower in the new run, unchanged code is called slower
// by absolute times, and not by their ratios to the baseline; a change of 15 % is found
// all the same.
func TestCompareUnderDrift(t *testing.T) {
	trials, rounds := simulations(60), 20
	type count struct{ covered, slower int }
	measure := func(absolute bool, truth float64) (c count) {
		for i := range uint64(trials) {
			calm := func(seed uint64, ratio float64) *Run {
				d := newDisk(seed, 0.02)
				d.drift = 0.005
				return simulated(seed, rounds, d, ratio)
			}
			old, new := calm(2*i+1, 1), shifted(calm(2*i+2, truth), 1.05)
			row := between(old, new, CompareOptions{Absolute: absolute}).Rows[1]
			if row.Ratio.Lo <= truth && truth <= row.Ratio.Hi {
				c.covered++
			}
			if row.Outcome == Regression {
				c.slower++
			}
		}
		return c
	}
	absolute, beside, found := measure(true, 1), measure(false, 1), measure(false, 1.15)
	t.Logf("of %d: absolute covers %d, slower %d; beside the baseline %d, %d; a change of 15 %%: %d, %d",
		trials, absolute.covered, absolute.slower, beside.covered, beside.slower, found.covered, found.slower)
	if absolute.covered > trials/2 || absolute.slower == 0 {
		t.Errorf("absolute times cover %d of %d and call %d slower; want the drift to show", absolute.covered, trials, absolute.slower)
	}
	if beside.covered < trials*9/10 || beside.slower > trials/200 {
		t.Errorf("beside the baseline %d of %d are covered and %d called slower; want 95 %% and none", beside.covered, trials, beside.slower)
	}
	if found.slower < trials*9/10 {
		t.Errorf("a change of 15 %% is found in %d of %d", found.slower, trials)
	}
}

// Several runs a side: what differs from run to run is in the interval, which one run a
// side does not know of.
func TestCompareSeveralRuns(t *testing.T) {
	trials, a, b := simulations(60), 4, 4
	covered, slower, one := 0, 0, 0
	for i := range uint64(trials) {
		var runs []*Run
		for k := range uint64(a + b) {
			seed := 100*i + k
			d := newDisk(seed, 0.02)
			// Each run has a bias of its own in the ratio to the baseline, 4 %.
			runs = append(runs, simulated(seed, 12, d, math.Exp(0.04*d.rng.NormFloat64())))
		}
		holds := func(row CompareRow) int {
			if row.Ratio.Lo <= 1 && 1 <= row.Ratio.Hi {
				return 1
			}
			return 0
		}
		got := Compare(runs[:a], runs[a:], CompareOptions{})
		covered += holds(got.Rows[1])
		one += holds(between(runs[0], runs[a], CompareOptions{}).Rows[1])
		if got.Rows[1].Outcome == Regression {
			slower++
		}
		if got.OldRuns != a || got.NewRuns != b || got.Rows[1].Rounds != 0 || got.Rows[1].Ratio.N != a {
			t.Fatalf("%+v", got)
		}
	}
	t.Logf("of %d: four runs a side cover %d, %d called slower; one run a side covers %d", trials, covered, slower, one)
	if covered < trials*88/100 || slower > max(1, trials/50) {
		t.Errorf("four runs a side cover %d of %d, %d called slower; want 95 %% and none", covered, trials, slower)
	}
	if one > covered*9/10 {
		t.Errorf("one run a side covers %d, four %d: the simulation has no variance between runs", one, covered)
	}
}

// The number of rounds that an inconclusive row names settles it.
func TestCompareTellsHowManyRounds(t *testing.T) {
	trials := simulations(40)
	settled, asked := 0, 0
	for i := range uint64(trials) {
		run := func(seed uint64, rounds int) *Run {
			d := newDisk(seed, 0.06)
			d.outliers = 0
			return simulated(seed, rounds, d, 1)
		}
		got := between(run(i+1, 12), run(i+1001, 12), CompareOptions{})
		if got.PassRounds == 0 {
			t.Fatalf("no number of rounds: %+v", got)
		}
		if row := got.Rows[1]; row.Outcome == Inconclusive && (row.Visible < 0.05 || row.Rounds == 0 && row.Ratio.Median < 1.03) {
			t.Errorf("an inconclusive row that does not say how much could be seen: %+v", row)
		}
		asked += got.PassRounds
		if between(run(i+2001, got.PassRounds), run(i+3001, got.PassRounds), CompareOptions{}).Outcome == Pass {
			settled++
		}
	}
	t.Logf("%d rounds on average; %d of %d pass with them", asked/trials, settled, trials)
	if settled < trials*65/100 {
		t.Errorf("of %d runs with the rounds that were asked for %d pass, want about four of five", trials, settled)
	}
}
