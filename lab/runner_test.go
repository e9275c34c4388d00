package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
)

var (
	kill  = run.Writes(durability.Kill, durability.Prefix)
	power = run.Writes(durability.Power, durability.Prefix)
)

// testExperiments are what the tests measure; the test binary runs their
// blocks too, so they are listed where TestMain finds them.
func testExperiments() []Experiment {
	spin := func(d time.Duration) func(*B) error {
		return func(b *B) error {
			for b.Loop() {
				for start := time.Now(); time.Since(start) < d; {
				}
			}
			return nil
		}
	}
	return []Experiment{
		seenCPUs(),
		{
			Suite: "test", Name: "spin", Question: "Is twice as long slower?", Op: "one spin", Stateless: true,
			Variants: []Variant{
				{Name: "once", Promise: kill, Run: spin(20 * time.Microsecond)},
				{Name: "twice", Promise: kill, Run: spin(40 * time.Microsecond)},
				{Name: "durable", Promise: power, Run: spin(20 * time.Microsecond)},
			},
		},
		{
			Suite: "test", Name: "broken", Question: "Do others go on?", Op: "nothing",
			Variants: []Variant{
				{Name: "good", Promise: kill, Run: spin(time.Microsecond)},
				{Name: "fails", Promise: kill, Run: func(*B) error { return errors.New("the disk is on fire") }},
				{Name: "panics", Promise: kill, Run: func(*B) error { panic("out of cheese") }},
				{Name: "loopless", Promise: kill, Run: func(*B) error { return nil }},
				{Name: "exits", Promise: kill, Run: func(*B) error { os.Exit(3); return nil }},
				{Name: "prints", Promise: kill, Run: func(b *B) error { fmt.Println("{}"); return spin(time.Microsecond)(b) }},
			},
		},
		{
			Suite: "test", Name: "directory", Question: "Is the directory fresh?", Op: "one file",
			Variants: []Variant{{Name: "create", Promise: kill, Run: func(b *B) error {
				if left, _ := os.ReadDir(b.Dir); len(left) > 0 {
					return fmt.Errorf("the directory of the block holds %d entries", len(left))
				}
				for b.Loop() {
					if err := os.WriteFile(filepath.Join(b.Dir, fmt.Sprint(b.I())), nil, 0o666); err != nil {
						return err
					}
				}
				return nil
			}}},
		},
		{
			Suite: "test", Name: "long", Question: "Can it be stopped?", Op: "one second", Ops: 1000,
			Variants: []Variant{{Name: "sleep", Promise: kill, Run: func(b *B) error {
				if err := os.WriteFile(filepath.Join(b.Dir, "begun"), nil, 0o666); err != nil {
					return err
				}
				for b.Loop() {
					time.Sleep(time.Second)
				}
				return nil
			}}},
		},
		{
			// Fast in the pilot, and slow ever after.
			Suite: "test", Name: "slowing", Question: "Does it end in time?", Op: "one sleep", Ops: 1,
			Variants: []Variant{{Name: "sleep", Promise: kill, Run: func() func(*B) error {
				calls := 0
				return func(b *B) error {
					for b.Loop() {
						if calls++; calls > 1 {
							time.Sleep(100 * time.Millisecond)
						}
					}
					return nil
				}
			}()}},
		},
		{
			Suite: "test", Name: "long-sleep", Question: "Do the cheap come first?", Op: "one sleep", Ops: 1,
			Variants: []Variant{
				{Name: "sleep", Promise: kill, Run: sleepInBlock},
				{Name: "sleep more", Promise: kill, Run: sleepInBlock},
			},
		},
		{
			Suite: "test", Name: "trace", Question: "Who waits for whom?", Op: "one answer", Ops: 30, MaxRounds: 1,
			Variants: []Variant{{Name: "server", Promise: kill, Run: appendAndWait}},
		},
		{
			Suite: "test", Name: "waits", Question: "Where do they wait?", Op: "one turn", Ops: 40, Waits: true, MaxRounds: 1,
			Variants: []Variant{
				{Name: "lock", Promise: kill, Run: takeTurns},
				{Name: "token", Promise: kill, Run: takeToken},
			},
		},
		syncExperiment(),
		aaExperiment(0),
		aaExperiment(0.15),
		buildsExperiment(),
	}
}

func sleepInBlock(b *B) error {
	for b.Loop() {
		time.Sleep(300 * time.Millisecond)
	}
	return nil
}

func testExperiment(t *testing.T, name string) Experiment {
	for _, e := range testExperiments() {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no test experiment is named %s", name)
	panic("unreachable")
}

func TestMeasure(t *testing.T) {
	block := 2 * time.Millisecond
	oneOfSome(t, func() error {
		// Where others have the processors too a block is to be long beside the
		// time for which they have them.
		block = block * 5 / 2
		c := measureSpins(t, block)
		if c.Ratio.Median < 1.3 || c.Ratio.Median > 3 {
			return fmt.Errorf("twice as long: the ratio is %+v", c.Ratio)
		}
		return nil
	})
}

// measureSpins runs a short measurement and checks all of it but its figures.
// It returns how one spin compares with another that is twice as long.
func measureSpins(t *testing.T, block time.Duration) run.Comparison {
	t.Helper()
	dir := t.TempDir()
	var events []Event
	got, err := Measure(t.Context(), Options{
		Places: []PlaceSpec{{Dir: dir}}, Rounds: 8, FixedRounds: true, BlockTime: block, Seed: 7,
		Progress: func(e Event) { events = append(events, e) },
	}, testExperiment(t, "spin"))
	if err != nil {
		t.Fatal(err)
	}
	res := got.Results[0]
	roles := map[string]int{}
	processes := map[string]bool{}
	for _, b := range res.Blocks {
		if b.Error != "" {
			t.Errorf("%s %s: %s", b.Variant, b.Role, b.Error)
		}
		roles[b.Role+" "+b.Variant]++
		processes[fmt.Sprint(b.Start)] = true
	}
	for role, want := range map[string]int{
		"timed once": 8, "timed twice": 8, "timed durable": 8, "calibration once": 8, "counted once": 1,
	} {
		if roles[role] != want {
			t.Errorf("%d blocks of %q, want %d", roles[role], role, want)
		}
	}
	if len(res.Comparisons) != 1 || res.Comparisons[0].Variant != "twice" {
		t.Fatalf("comparisons: %+v", res.Comparisons)
	}
	if len(res.Refused) != 1 || !slices.Contains(res.Refused[0].Variants, "durable") {
		t.Errorf("refused: %+v", res.Refused)
	}
	if res.Noise == nil {
		t.Error("no noise floor")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d entries were left in the directory, %s first", len(left), left[0].Name())
	}
	last := events[len(events)-1]
	if last.Kind != "done" || last.Share != 1 {
		t.Errorf("the last event is %+v", last)
	}
	if got.Partial != nil {
		t.Errorf("partial: %+v", got.Partial)
	}
	return res.Comparisons[0]
}

// The order of blocks is shuffled anew for each round, and repeats by seed.
func TestOrderIsShuffledBySeed(t *testing.T) {
	order := func(seed uint64) string {
		got, err := Measure(t.Context(), Options{
			Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 6, BlockTime: time.Millisecond, Seed: seed,
			InProcess: true, NoCalibration: true,
		}, testExperiment(t, "spin"))
		if err != nil {
			t.Fatal(err)
		}
		var s strings.Builder
		for _, b := range got.Results[0].Blocks {
			if b.Role == run.RoleTimed {
				s.WriteByte(b.Variant[0])
			}
		}
		return s.String()
	}
	a, b, c := order(1), order(1), order(2)
	if a != b {
		t.Errorf("the same seed gave the orders %s and %s", a, b)
	}
	if a == c {
		t.Errorf("two seeds gave the same order %s", a)
	}
	if a == strings.Repeat(a[:3], 6) {
		t.Errorf("no shuffling between rounds: %s", a)
	}
}

func TestBrokenVariantsLeaveOthersAlone(t *testing.T) {
	got, err := Measure(t.Context(), Options{
		Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 2, BlockTime: time.Millisecond,
	}, testExperiment(t, "broken"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range got.Results[0].Variants {
		want := map[string]string{
			"fails": "the disk is on fire", "panics": "out of cheese",
			"loopless": "B.Loop", "exits": "exit status 3",
		}[v.Name]
		switch {
		case want == "" && v.Error != "":
			t.Errorf("%s: %s", v.Name, v.Error)
		case !strings.Contains(v.Error, want):
			t.Errorf("%s: the error %q does not say %q", v.Name, v.Error, want)
		case want == "" && v.Time.N != 2:
			t.Errorf("%s: %d data, want 2", v.Name, v.Time.N)
		}
	}
}

// A budget that is too short for what the pilot foretold still leaves the
// fewest rounds that can say something, unless it is much too short: then the
// result says why there is no verdict.
func TestBudget(t *testing.T) {
	for budget, want := range map[time.Duration]int{600 * time.Millisecond: MinRounds, 250 * time.Millisecond: 3} {
		got, err := Measure(t.Context(), Options{
			Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 50, BlockTime: 10 * time.Millisecond,
			Budget: budget, InProcess: true, NoCalibration: true,
		}, testExperiment(t, "slowing"))
		if err != nil {
			t.Fatal(err)
		}
		res := got.Results[0]
		if n := res.Variants[0].Time.N; n > want || n < 1 || res.Rounds != n {
			t.Errorf("%v: %d rounds, want %d at most", budget, n, want)
		}
		if cut := res.Rounds < MinRounds; cut != (res.Cut != nil) || budget < 300*time.Millisecond && !cut {
			t.Errorf("%v: %d rounds, and it says %+v", budget, res.Rounds, res.Cut)
		}
	}
}

func TestEachBlockHasAFreshDirectory(t *testing.T) {
	got, err := Measure(t.Context(), Options{
		Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 3, BlockTime: 2 * time.Millisecond,
	}, testExperiment(t, "directory"))
	if err != nil {
		t.Fatal(err)
	}
	if e := got.Results[0].Variants[0].Error; e != "" {
		t.Error(e)
	}
}

func TestCancelKeepsWhatWasMeasured(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cancelled := make(chan time.Time, 1)
	go func() { // once the block runs
		for ctx.Err() == nil {
			if begun, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*", "begun")); len(begun) > 0 {
				cancelled <- time.Now()
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	got, err := Measure(ctx, Options{Places: []PlaceSpec{{Dir: dir}}}, testExperiment(t, "long"))
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(<-cancelled); took > 2*time.Minute { // the pilot alone is to take a quarter of an hour
		t.Errorf("it took %v to stop", took)
	}
	if got.Partial == nil {
		t.Error("the run is not marked partial")
	}
	if e := got.Results[0].Variants[0].Error; e != "" {
		t.Errorf("being stopped is booked as the variant's error: %s", e)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%s was left behind", left[0].Name())
	}
}

func TestMeasureRefusesWhatCannotBeRun(t *testing.T) {
	good := testExperiment(t, "spin")
	twice := good
	twice.Variants = []Variant{good.Variants[0], good.Variants[0]}
	silent := good
	silent.Variants = []Variant{good.Variants[0]}
	silent.Variants[0].Promise = run.Promise{}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		o    Options
		e    []Experiment
	}{
		{"no experiments; want one or more", Options{}, nil},
		{"lab: experiment test/spin: want each ID once", Options{}, []Experiment{good, good}},
		{"lab: experiment test/spin: variant \"once\": want each Name once", Options{}, []Experiment{twice}},
		{"lab: experiment test/spin: variant \"once\": Promise: not stated; want run.Writes", Options{}, []Experiment{silent}},
		{"Settings.Tolerance: 5; want", Options{Tolerance: 5}, []Experiment{good}},
		{`Settings.Test: "student"; want bootstrap, welch or mannwhitney`, Options{Test: "student"}, []Experiment{good}},
		{"lab: Options.BlockTime: 1µs; want 1ms to 1h0m0s", Options{BlockTime: time.Microsecond}, []Experiment{good}},
		{"want a directory", Options{Places: []PlaceSpec{{Dir: file}}}, []Experiment{good}},
		{"no such file", Options{Places: []PlaceSpec{{Dir: file + "x"}}}, []Experiment{good}},
	} {
		_, err := Measure(t.Context(), c.o, c.e...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want an error with %q, got %v", c.want, err)
		}
	}
}

func TestBatchFor(t *testing.T) {
	for _, c := range []struct {
		perOp      time.Duration
		ops, batch int64
	}{
		{time.Millisecond, 1000, 1}, {time.Microsecond, 1000, 1}, {999, 100000, 10}, {30, 100000, 333}, {30, 100, 100}, {0, 1e6, 10000},
	} {
		if got := batchFor(c.perOp, c.ops); got != c.batch {
			t.Errorf("operations of %v, %d of them: timed %d at a time, want %d", c.perOp, c.ops, got, c.batch)
		}
	}
}

func TestResultKeepsCells(t *testing.T) {
	e := Experiment{Suite: "s", Name: "n", Variants: []Variant{{Name: "v", Cell: &run.Cell{Surface: "x"}}}}
	if newResult(&e, "here").Variants[0].Cell != e.Variants[0].Cell {
		t.Error("a result has lost its cells")
	}
}
