package lab

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// planned is an experiment that had its pilots: lanes of blocks of that time, half of
// it timed.
func planned(r *runner, rounds int, block time.Duration) *measurement {
	u := &measurement{
		runner: r, e: &Experiment{Suite: "s", Name: block.String()}, wanted: r.o.Rounds, planned: MinRounds,
		rounds: rounds, ready: true, results: []*run.Result{{Variants: []run.VariantResult{{Name: "a"}, {Name: "b"}}}},
	}
	for range 2 {
		l := &lane{v: &Variant{Name: "a"}, ops: 100, batch: 1, perOp: block / 200}
		l.cost.pilot(1, l.perOp, 2*l.perOp)
		l.cost.pilot(100, 100*l.perOp, block)
		u.lanes = append(u.lanes, l)
	}
	r.all = append(r.all, u)
	return u
}

func testRunner(budget time.Duration) *runner {
	return &runner{o: Options{Rounds: 20, Budget: budget, BlockTime: 250 * time.Millisecond}, begun: time.Now(), run: &run.Run{}}
}

// The costly experiments are made cheaper, the others keep their blocks.
func TestBlocksAreSized(t *testing.T) {
	r := testRunner(time.Minute)
	small, large, fixed := planned(r, 0, 100*time.Millisecond), planned(r, 0, 10*time.Second), planned(r, 0, 10*time.Second)
	fixed.e.Ops = 100
	sizeBlocks([]*measurement{small, large, fixed}, 31200*time.Millisecond)
	if small.lanes[0].ops != 100 || fixed.lanes[0].ops != 100 {
		t.Errorf("operations: %d and %d, want 100", small.lanes[0].ops, fixed.lanes[0].ops)
	}
	// 1.2 s for the small one, and half of the other 30 s for each of the large ones.
	if got := large.least(); got > 15*time.Second || got < 11*time.Second {
		t.Errorf("the large one takes %v, with %d operations; want 15s", got, large.lanes[0].ops)
	}
	sizeBlocks([]*measurement{large}, time.Millisecond)
	if timed := time.Duration(large.lanes[0].ops) * large.lanes[0].perOp; timed < 75*time.Millisecond || timed > 150*time.Millisecond {
		t.Errorf("without any time the blocks are %v, of %d operations; want 0.3 of 250ms or little more", timed, large.lanes[0].ops)
	}
	enough := planned(r, 0, time.Second)
	if sizeBlocks([]*measurement{enough}, time.Hour); enough.lanes[0].ops != 100 {
		t.Errorf("with all the time in the world %d operations", enough.lanes[0].ops)
	}
}

// The untimed part of a block is in its cost: it grows with the operations, or was for
// files that all blocks share.
func TestCostOfABlock(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name        string
		first, last blockTimes
		ops         int64
		want        time.Duration
	}{
		{"files to prepare", blockTimes{1, 1 * ms, 51 * ms}, blockTimes{11, 11 * ms, 561 * ms}, 21, 21*ms + 1050*ms},
		{"files that are shared", blockTimes{1, 1 * ms, 900 * ms}, blockTimes{11, 11 * ms, 71 * ms}, 5, 5*ms + 60*ms},
		{"one pilot", blockTimes{10, 10 * ms, 30 * ms}, blockTimes{10, 10 * ms, 30 * ms}, 10, 30 * ms},
	} {
		var l lane
		l.cost.pilot(c.first.ops, c.first.timed, c.first.whole)
		if c.last != c.first {
			l.cost.pilot(c.last.ops, c.last.timed, c.last.whole)
		}
		l.ops, l.perOp = c.ops, ms
		if got := timeOf([]*lane{&l, {failed: true, ops: 1, perOp: time.Hour}}, c.ops); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		l.cost.block(2 * time.Second)
		l.cost.block(time.Second)
		if got := timeOf([]*lane{&l}, c.ops); got != 1500*ms {
			t.Errorf("%s: after two blocks %v, want 1.5s", c.name, got)
		}
	}
}

// More rounds go where they settle most for their time, and nowhere if they settle
// nothing.
func TestRoundsGoWhereTheyHelp(t *testing.T) {
	r := testRunner(time.Minute)
	unclear := func(u *measurement, needed int, visible float64) {
		u.results[0].Comparisons = append(u.results[0].Comparisons, run.Comparison{
			Variant: "b", Baseline: "a", Verdict: run.CannotTell, RoundsNeeded: needed, Visible: visible, Tolerance: 0.05,
		})
	}
	cheap, costly, sure := planned(r, 6, 100*time.Millisecond), planned(r, 6, time.Second), planned(r, 6, time.Millisecond)
	if u := r.mostGain(r.all); u != nil {
		t.Errorf("all is clear, and %s gets more", u.e.Name)
	}
	unclear(cheap, 12, 0.2)
	unclear(costly, 12, 0.2)
	if u := r.mostGain(r.all); u != cheap {
		t.Errorf("of two with one question %v is chosen, want the cheap one", u)
	}
	unclear(cheap, 200, 0.2)
	cheap.results[0].Comparisons[0].RoundsNeeded = 200
	if u := r.mostGain(r.all); u != costly {
		t.Errorf("%v is chosen, want the one that can be settled", u)
	}
	unclear(cheap, 0, 0.8) // hides a difference of 1.5 times
	if u := r.mostGain(r.all); u != cheap {
		t.Errorf("%v is chosen, want the one that sees least", u)
	}
	cheap.ended, costly.results[0].Comparisons[0].RoundsNeeded = true, 0
	if u := r.mostGain(r.all); u != nil {
		t.Errorf("%v is chosen, want none: nothing can be settled", u.e.Name)
	}
	r.o.FixedRounds = true
	sure.rounds = 7
	if u := r.mostGain(r.all); u != costly {
		t.Errorf("%v is chosen, want the one with the fewest rounds", u)
	}
}

// The time left is that of the pilots, and never more than the budget unless what must
// be run takes longer: then up to overrun of it, where the run ends.
func TestTimeLeft(t *testing.T) {
	r := testRunner(0)
	r.places = make([]openPlace, 1)
	first, second := planned(r, 0, time.Second), planned(r, 0, time.Second)
	first.planned, second.planned = 20, 20
	near := func(what string, want time.Duration) {
		t.Helper()
		if got := r.left(); got > want || got < want-time.Since(r.begun)-time.Millisecond {
			t.Errorf("%s: %v left, want %v", what, got, want)
		}
	}
	near("two experiments", 80*time.Second)
	first.ended, first.rounds, first.spent = true, 10, 20*time.Second
	near("one ended after half of its rounds", 20*time.Second)
	second.ready = false
	guess := second.guess(20)
	near("nothing is known of the second", time.Duration(float64(20*time.Second)/float64(first.guess(20))*float64(guess)))
	r = testRunner(30 * time.Second)
	u := planned(r, 0, time.Second)
	near("a budget", 30*time.Second)
	u.lanes[0].cost.block(10 * time.Second)
	near("a budget that does not do", 33*time.Second)
	u.ended = true
	near("all ended", 0)
}

// Whatever the lanes, each experiment of a run with a budget has its rounds, or says why
// not, and the cheap come first.
func TestBudgetIsShared(t *testing.T) {
	oneOfSome(t, func() error { // a busy machine can leave a budget too little
		got, err := Measure(t.Context(), Options{
			Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 9, BlockTime: time.Millisecond, Budget: 2 * time.Second, InProcess: true,
		}, testExperiment(t, "long-sleep"), testExperiment(t, "spin"))
		if err != nil {
			t.Fatal(err)
		}
		slow, fast := got.Results[0], got.Results[1]
		if slow.Rounds >= MinRounds || slow.Stopped != run.StoppedBudget || slow.Cut == nil || slow.Cut.Needed != MinRounds {
			return fmt.Errorf("the slow one: %d rounds, %s, %+v", slow.Rounds, slow.Stopped, slow.Cut)
		}
		if fast.Rounds < MinRounds || fast.Cut != nil || fast.Stopped == "" || fast.Stopped == run.StoppedInterrupted {
			return fmt.Errorf("the fast one: %d rounds, %q, %+v", fast.Rounds, fast.Stopped, fast.Cut)
		}
		if got.Partial != nil || got.Forecast == nil || got.Forecast.Before <= 0 || got.Forecast.Pilots <= 0 {
			return fmt.Errorf("partial %+v, forecast %+v", got.Partial, got.Forecast)
		}
		return nil
	})
}

// An experiment whose preparation takes longer than the budget leaves another one, behind
// it, its rounds.
func TestSlowPilotLeavesTheOthersTheirShare(t *testing.T) {
	slow := Experiment{Suite: "test", Name: "slow", Question: "?", Op: "one wait", Variants: []Variant{{
		Name: "waits", Promise: kill, Baseline: true, Run: func(b *B) error {
			<-b.Context().Done()
			return b.Context().Err()
		},
	}}}
	oneOfSome(t, func() error { // a busy machine can leave a budget too little
		got, err := Measure(t.Context(), Options{
			Places: []PlaceSpec{{Dir: t.TempDir()}}, BlockTime: time.Millisecond, Budget: 2 * time.Second, InProcess: true,
		}, slow, testExperiment(t, "spin"))
		if err != nil {
			t.Fatal(err)
		}
		if first := got.Results[0]; first.Stopped != run.StoppedBudget || first.Cut == nil || first.Variants[0].Error != "" {
			t.Fatalf("the slow one: %s, %+v, error %q", first.Stopped, first.Cut, first.Variants[0].Error)
		}
		if second := got.Results[1]; second.Rounds < MinRounds {
			return fmt.Errorf("the other one: %d rounds, %s", second.Rounds, second.Stopped)
		}
		return nil
	})
}

// A run of one experiment says again how long it will take once its pilots have shown how
// long a block takes: longer than a block should, where one operation does.
func TestOneExperimentIsForecastAgain(t *testing.T) {
	const op = 20 * time.Millisecond
	e := Experiment{Suite: "test", Name: "long", Question: "How long?", Op: "one sleep", Ops: 1, Variants: []Variant{{Name: "v", Promise: kill, Run: func(b *B) error {
		for b.Loop() {
			time.Sleep(op)
		}
		return nil
	}}}}
	var told []Event
	o := Options{Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 6, BlockTime: time.Millisecond, InProcess: true, NoCalibration: true,
		Progress: func(e Event) { told = append(told, e) }}
	got, err := Measure(t.Context(), o, e)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(told, func(e Event) bool { return e.Kind == "piloted" })
	if i < 0 || time.Duration(told[i].Left) < 6*op {
		t.Fatalf("after the pilots: event %d of %+v; want that at least %v are left", i, told, 6*op)
	}
	if slices.ContainsFunc(told[:i], func(e Event) bool { return e.Kind == "block" }) || got.Forecast.Pilots < told[i].Left {
		t.Errorf("the run has a forecast of %v, told after a block: %+v", time.Duration(got.Forecast.Pilots), told[:i])
	}
}

// A difference of ten times is clear at the first look, which the run that is read again
// confirms.
func TestClearRunsEndEarly(t *testing.T) {
	e := Experiment{Suite: "test", Name: "spins", Stateless: true, Question: "?", Op: "one spin"}
	for name, d := range map[string]time.Duration{"once": 20 * time.Microsecond, "tenfold": 200 * time.Microsecond} {
		e.Variants = append(e.Variants, Func(name, kill, func() error {
			for start := time.Now(); time.Since(start) < d; {
			}
			return nil
		}))
	}
	o := Options{Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 40, BlockTime: 2 * time.Millisecond, InProcess: true}
	got, err := Measure(t.Context(), o, e)
	if err != nil {
		t.Fatal(err)
	}
	res := got.Results[0]
	if res.Stopped != run.StoppedClear || res.Rounds >= 40 || len(res.Looks) == 0 || res.Looks[len(res.Looks)-1] != res.Rounds {
		t.Fatalf("%d rounds, looked at after %d, stopped for %q: %+v", res.Rounds, res.Looks, res.Stopped, res.Comparisons)
	}
	was := res.Comparisons[0]
	got.Analyse()
	if is := res.Comparisons[0]; is.Verdict != was.Verdict || is.Ratio != was.Ratio || is.Ratio.Confidence < 0.99 {
		t.Errorf("analysed again: %+v, before %+v", is, was)
	}
	o.Rounds, o.FixedRounds = 9, true
	if got, err = Measure(t.Context(), o, e); err != nil {
		t.Fatal(err)
	}
	if res := got.Results[0]; res.Rounds != 9 || res.Stopped != run.StoppedRounds || res.Looks != nil {
		t.Errorf("fixed rounds: %d, %q, looks %v", res.Rounds, res.Stopped, res.Looks)
	}
}
