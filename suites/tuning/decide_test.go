package tuning

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/profile"
	"github.com/stele-go/stele/suites/job"
)

// twoLoads returns a choice among three settings.
func twoLoads() Choice {
	c := Choice{Field: "write.sync", Question: "Which?", Default: "one", Settings: []Setting{{Name: "one"}}}
	for _, name := range []string{"two", "three"} {
		c.Settings = append(c.Settings, Setting{
			Name: name, Says: "write.sync " + name, set: func(p *profile.Profile) { p.Write.Sync = name },
		})
	}
	for _, load := range []string{"small", "large"} {
		c.load(load+" ones", lab.Experiment{Params: run.Params{"load": load}}, func(Setting, *lab.Experiment) lab.Variant {
			return lab.Variant{Promise: job.Promise(durability.Power, durability.Torn)}
		})
	}
	return c
}

// measuredAs returns a run with the times of perOp: of an operation at a load, of a
// setting, in a round. A time of 0 is a block that failed, a negative time a load that was
// not measured.
func measuredAs(c *Choice, rounds int, perOp func(load, setting string, round int) float64) []*run.Result {
	got := &run.Run{
		Settings: run.Settings{Rounds: rounds, Tolerance: 0.05, Test: run.TestBootstrap},
		Places:   []run.Place{{Name: "d", Environment: run.Environment{FS: "ext4"}}}, Seed: 7,
	}
	for _, l := range c.Loads {
		e := &l.experiment
		if perOp(l.Name, c.Settings[0].Name, 1) < 0 {
			continue
		}
		res := &run.Result{ID: e.ID(), Suite: e.Suite, Name: e.Name, Params: e.Params, Place: "d"}
		for _, v := range e.Variants {
			r := run.VariantResult{Name: v.Name, Promise: v.Promise, Baseline: v.Baseline, Cell: v.Cell}
			for round := 1; round <= rounds; round++ {
				b := run.Block{Variant: v.Name, Role: run.RoleTimed, Round: round, Ops: 1000, Batch: 1}
				b.Wall = run.Nanos(1000 * perOp(l.Name, v.Name, round))
				if b.Wall == 0 {
					b.Error, r.Error, r.Unsupported = "not here", v.Name+": not here", true
				}
				res.Blocks = append(res.Blocks, b)
			}
			res.Variants = append(res.Variants, r)
		}
		got.Results = append(got.Results, res)
	}
	got.Analyse()
	return got.Results
}

// even varies a time a little from round to round, wild a lot.
func even(ns float64, round int) float64 { return ns * (1 + 0.002*float64(round%3)) }

func wild(ns float64, seed int) float64 {
	return ns * (1 + 10*rand.New(rand.NewPCG(uint64(seed), 1)).Float64())
}

func TestDecide(t *testing.T) {
	times := func(m map[string]float64) func(load, setting string, round int) float64 {
		return func(load, setting string, round int) float64 {
			load, _, _ = strings.Cut(load, " ")
			ns, ok := m[setting+" "+load]
			if !ok {
				ns = 1000
			}
			return even(ns, round)
		}
	}
	for _, c := range []struct {
		name, taken, why string
		rounds           int
		time             func(load, setting string, round int) float64
	}{
		{"faster at both", "two", "two takes 0.50x", 10, times(map[string]float64{"two small": 500, "two large": 500})},
		{"faster at one, the same at the other", "three", "is not slower otherwise", 10, times(map[string]float64{"three large": 700})},
		{"faster at one, slower at the other", "", "but 2.00x [2.00, 2.00] of the time of one with large ones. Where", 10,
			times(map[string]float64{"two small": 500, "two large": 2000})},
		{"all the same", "", "no other way is faster", 10, times(nil)},
		{"all slower", "", "no other way is faster", 10,
			times(map[string]float64{"two small": 1500, "two large": 1500, "three small": 1500, "three large": 1500})},
		{"hardly faster", "", "no other way is faster", 10, times(map[string]float64{"two small": 980, "two large": 980})},
		{"the fastest of two", "three", "three takes 0.40x", 10,
			times(map[string]float64{"two small": 500, "two large": 600, "three small": 400, "three large": 700})},
		{"the faster one has a drawback", "two", "two takes 0.80x", 10,
			times(map[string]float64{"two small": 800, "three small": 100, "three large": 1300})},
		{"too few rounds", "", "cannot tell that another way is faster: ", 3, times(map[string]float64{"two small": 500, "two large": 500})},
		{"wild", "", "x would have been seen", 10, func(load, setting string, round int) float64 {
			return wild(1000, 100*len(setting+load)+round)
		}},
		{"faster at one, wild at the other", "", "but with large ones it may be slower", 10, func(load, setting string, round int) float64 {
			switch {
			case setting == "two" && load == "small ones":
				return even(500, round)
			case setting == "two":
				return wild(300, round)
			}
			return even(1000, round)
		}},
		{"cannot be had", "", "no other way is faster", 10, times(map[string]float64{"two small": 0, "two large": 0})},
		{"cannot be had at one load", "", "no other way is faster", 10, times(map[string]float64{"two small": 500, "two large": 0})},
		{"one load is missing", "", "not measured with large ones", 10, times(map[string]float64{"two small": 500, "one large": -1})},
		{"both are missing", "", "not measured", 10, times(map[string]float64{"one small": -1, "one large": -1})},
		{"nothing works", "", "it could not be measured", 10, func(string, string, int) float64 { return 0 }},
	} {
		choice := twoLoads()
		d := choice.Decide(measuredAs(&choice, c.rounds, c.time))
		var p profile.Profile
		d.Apply(&p)
		if p.Write.Sync != c.taken || !strings.Contains(d.Why, c.why) {
			t.Errorf("%s: took %q since %q; want %q since %q", c.name, p.Write.Sync, d.Why, c.taken, c.why)
		}
		if d.measured != (len(d.Figures) > 0) || len(p.Figures) != len(d.Figures) {
			t.Errorf("%s: measured %v with %d figures, %d in the profile", c.name, d.measured, len(d.Figures), len(p.Figures))
		}
		for _, f := range d.Figures {
			if f.Taken != (f.Name == c.taken) || f.For != "write.sync" || f.Value <= 0 || (f.Verdict == "") != (f.Name == "one") {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
	}
}

// Only the default is measured, and the decision says so.
func TestDecideTellsWhatIsAbsent(t *testing.T) {
	choice := twoLoads()
	d := choice.Decide(measuredAs(&choice, 8, func(_, setting string, round int) float64 {
		if setting == "three" {
			return 0
		}
		return even(1000, round)
	}))
	want := []string{"three with small ones: not here", "three with large ones: not here"}
	if !slices.Equal(d.Absent, want) || len(d.Figures) != 4 {
		t.Errorf("absent %q, %d figures", d.Absent, len(d.Figures))
	}
	d = choice.Decide(measuredAs(&choice, 8, func(load, _ string, round int) float64 {
		if load == "small ones" {
			return 0
		}
		return even(1000, round)
	}))
	if want := []string{"nothing with small ones: not here"}; !slices.Equal(d.Absent, want) || len(d.Figures) != 3 {
		t.Errorf("absent %q, %d figures", d.Absent, len(d.Figures))
	}
}

func TestDecideKnee(t *testing.T) {
	for _, c := range []struct {
		name  string
		taken int
		time  func(n, round int) float64
		rnds  int
	}{
		{"at 8", 8, func(n, round int) float64 { return even(8000/float64(min(n, 8)), round) }, 10},
		{"more bring nothing", 1, func(n, round int) float64 { return even(1000, round) }, 10},
		{"more are worse", 1, func(n, round int) float64 { return even(1000*float64(n), round) }, 10},
		{"all bring more", 32, func(n, round int) float64 { return even(32000/float64(n), round) }, 10},
		{"too few rounds", 0, func(n, round int) float64 { return even(8000/float64(min(n, 8)), round) }, 3},
		{"wild", 0, func(n, round int) float64 { return wild(1000, 100*n+round) }, 10},
		{"cannot be had", 0, func(n, round int) float64 { return 0 }, 10},
	} {
		choice := tuneParallel(job.Scale(256))
		d := choice.Decide(measuredAs(&choice, c.rnds, func(_, setting string, round int) float64 {
			return c.time(tuneNumber(Setting{Name: setting}), round)
		}))
		var p profile.Profile
		d.Apply(&p)
		if p.Read.Parallel != c.taken || d.Why == "" {
			t.Errorf("%s: took %d since %q; want %d", c.name, p.Read.Parallel, d.Why, c.taken)
		}
	}
}

// A cost that comes after the operation is told with the setting, and decides nothing.
func TestLaterCost(t *testing.T) {
	c := twoLoads()
	c.Loads = c.Loads[:1]
	c.later, c.laterLoad = "read_after_ns", "reading it"
	results := measuredAs(&c, 10, func(_, setting string, round int) float64 {
		return even(map[string]float64{"one": 1000, "two": 500, "three": 1000}[setting], round)
	})
	for i := range results[0].Blocks {
		b := &results[0].Blocks[i]
		b.Metrics = map[string]float64{"read_after_ns": even(map[string]float64{"one": 100, "two": 400, "three": 100}[b.Variant], b.Round)}
	}
	for i := range results[0].Variants {
		results[0].Variants[i].Metrics = map[string]run.Estimate{"read_after_ns": {Median: 100, Lo: 99, Hi: 101}}
	}
	d := c.Decide(results)
	if d.Taken == nil || d.Taken.Name != "two" || !strings.Contains(d.Why, ". Later: reading it takes 4.00x [4.00, 4.00] of the time after one") {
		t.Errorf("%v: %q", d.Taken, d.Why)
	}
	if len(d.Later) != 3 || d.Later[0].Ratio != 0 || d.Later[1].RatioLo < 3.9 {
		t.Errorf("later figures %v", d.Later)
	}
	c.Settings[1].Later = "it is not cached"
	if d := c.Decide(results); !strings.HasSuffix(d.Why, "after one, as it is not cached") {
		t.Errorf("%q", d.Why)
	}
	c.later = ""
	if d := c.Decide(results); !strings.HasSuffix(d.Why, ". Later: it is not cached") || len(d.Later) != 0 {
		t.Errorf("%q", d.Why)
	}
}
