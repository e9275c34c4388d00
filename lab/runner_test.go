package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
)

var (
	kill  = durability.Promise{Level: durability.Kill, After: durability.Prefix}
	power = durability.Promise{Level: durability.Power, After: durability.Prefix}
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
			Suite: "test", Name: "folder", Question: "Is the folder fresh?", Op: "one file",
			Variants: []Variant{{Name: "create", Promise: kill, Run: func(b *B) error {
				if left, _ := os.ReadDir(b.Dir); len(left) > 0 {
					return fmt.Errorf("the folder of the block holds %d entries", len(left))
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
		aaExperiment(0),
		aaExperiment(0.15),
	}
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
	dir := t.TempDir()
	var events []Event
	run, err := Measure(t.Context(), Options{
		Places: []PlaceSpec{{Dir: dir}}, Rounds: 8, BlockTime: 5 * time.Millisecond, Seed: 7,
		Progress: func(e Event) { events = append(events, e) },
	}, testExperiment(t, "spin"))
	if err != nil {
		t.Fatal(err)
	}
	res := run.Results[0]
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
	// The bounds are wide because tests share the machine with other tests.
	if c := res.Comparisons[0]; c.Ratio.Median < 1.3 || c.Ratio.Median > 3 {
		t.Errorf("twice as long: the ratio is %+v", c.Ratio)
	}
	if len(res.Refused) != 1 || !strings.Contains(res.Refused[0], "durable") {
		t.Errorf("refused: %q", res.Refused)
	}
	if res.Noise == nil {
		t.Error("no noise floor")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d entries were left in the folder, %s first", len(left), left[0].Name())
	}
	last := events[len(events)-1]
	if last.Kind != "done" || last.Share != 1 {
		t.Errorf("the last event is %+v", last)
	}
	if run.Partial != "" {
		t.Errorf("partial: %s", run.Partial)
	}
}

// The order of blocks is shuffled anew for each round, and repeats by seed.
func TestOrderIsShuffledBySeed(t *testing.T) {
	order := func(seed uint64) string {
		run, err := Measure(t.Context(), Options{
			Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 6, BlockTime: time.Millisecond, Seed: seed,
			InProcess: true, NoCalibration: true,
		}, testExperiment(t, "spin"))
		if err != nil {
			t.Fatal(err)
		}
		var s strings.Builder
		for _, b := range run.Results[0].Blocks {
			if b.Role == RoleTimed {
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
	run, err := Measure(t.Context(), Options{
		Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 2, BlockTime: time.Millisecond,
	}, testExperiment(t, "broken"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range run.Results[0].Variants {
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
// fewest rounds that can say something, and no more.
func TestBudget(t *testing.T) {
	e := testExperiment(t, "slowing")
	run, err := Measure(t.Context(), Options{
		Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 50, BlockTime: 10 * time.Millisecond,
		Budget: 400 * time.Millisecond, InProcess: true, NoCalibration: true,
	}, e)
	if err != nil {
		t.Fatal(err)
	}
	if n := run.Results[0].Variants[0].Time.N; n != MinRounds {
		t.Errorf("%d rounds, want %d", n, MinRounds)
	}
}

func TestEachBlockHasAFreshFolder(t *testing.T) {
	run, err := Measure(t.Context(), Options{
		Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 3, BlockTime: 2 * time.Millisecond,
	}, testExperiment(t, "folder"))
	if err != nil {
		t.Fatal(err)
	}
	if e := run.Results[0].Variants[0].Error; e != "" {
		t.Error(e)
	}
}

func TestCancelKeepsWhatWasMeasured(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var start time.Time
	run, err := Measure(ctx, Options{
		Places: []PlaceSpec{{Dir: dir}},
		Progress: func(e Event) {
			if e.Kind == "pilot" {
				time.AfterFunc(300*time.Millisecond, func() { start = time.Now(); cancel() })
			}
		},
	}, testExperiment(t, "long"))
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v to stop", took)
	}
	if run.Partial == "" {
		t.Error("the run is not marked partial")
	}
	if e := run.Results[0].Variants[0].Error; e != "" {
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
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		o    Options
		e    []Experiment
	}{
		{"no experiments", Options{}, nil},
		{"two experiments are named", Options{}, []Experiment{good, good}},
		{"two variants are named", Options{}, []Experiment{twice}},
		{"tolerance", Options{Tolerance: 5}, []Experiment{good}},
		{"no test is named", Options{Test: "student"}, []Experiment{good}},
		{"block time", Options{BlockTime: time.Microsecond}, []Experiment{good}},
		{"not a folder", Options{Places: []PlaceSpec{{Dir: file}}}, []Experiment{good}},
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
