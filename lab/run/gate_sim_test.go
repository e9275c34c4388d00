package run

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/lab/stats"
)

// twoBuilds is a run of two builds in the same rounds, in the newer of which variant b
// takes ratio times as long.
func twoBuilds(seed uint64, rounds int, noise, ratio float64) *Run {
	d := newDisk(seed, noise)
	r := simulated(seed, 0, d, 1)
	res := r.Results[0]
	for round := 1; round <= rounds; round++ {
		d.nextRound()
		res.Blocks = append(res.Blocks,
			d.block("a", RoleTimed, round, 20_000), d.block("a", RoleAgainst, round, 20_000),
			d.block("b", RoleTimed, round, 20_000*ratio), d.block("b", RoleAgainst, round, 20_000))
	}
	r.Settings.Rounds, r.Against = rounds, &Against{Program: "old"}
	return r
}

// twoRuns is the same in two runs, on a machine that is 5 % slower in the newer one. Its
// speed wanders less in a run than between the rounds of a disk.
func twoRuns(seed uint64, rounds int, noise, ratio float64) *CompareReport {
	one := func(seed uint64, ratio float64) *Run { return simulated(seed, rounds, newDisk(seed, noise), ratio) }
	return between(one(seed, 1), shifted(one(seed+1e6, ratio), 1.05), CompareOptions{})
}

// Twenty unchanged builds and twenty that are 15 % slower, with blocks that repeat to
// 4 %, one in 25 of which is held up, and with as many rounds as a first measurement of
// an unchanged build asks for: no unchanged one is called slower, and 18 of the slower
// ones are found. Both gates are tried.
func TestGateFindsSlowerBuilds(t *testing.T) {
	const noise, builds, pilot = 0.04, 20, 12
	gates := map[string]func(seed uint64, rounds int, ratio float64) *CompareReport{
		"against": func(seed uint64, rounds int, ratio float64) *CompareReport {
			return twoBuilds(seed, rounds, noise, ratio).CompareBuilds(CompareOptions{})
		},
		"compare": func(seed uint64, rounds int, ratio float64) *CompareReport {
			return twoRuns(seed, rounds, noise, ratio)
		},
	}
	for name, judge := range gates {
		asked, alarms, found, passed, worst := 0, 0, 0, 0, builds
		trials := simulations(5)
		for trial := range uint64(trials) {
			seed := trial * 1000
			rounds := judge(seed, pilot, 1).PassRounds
			asked += rounds
			here := 0
			for i := range uint64(builds) {
				switch judge(seed+2*i+1, rounds, 1).Outcome {
				case Regression:
					alarms++
				case Pass:
					passed++
				}
				if judge(seed+2*i+2, rounds, 1.15).Outcome == Regression {
					here++
				}
			}
			found, worst = found+here, min(worst, here)
		}
		n := trials * builds
		t.Logf("%s: %d rounds asked for on average; of %d unchanged builds %d alarms, %d pass; of %d slower ones %d found, in the worst trial %d of %d",
			name, asked/trials, n, alarms, passed, n, found, worst, builds)
		if alarms > trials/50 || found < n*9/10 {
			t.Errorf("%s: %d alarms of %d, and %d of %d found; want none, and nine of ten", name, alarms, n, found, n)
		}
	}
}

// Both builds run in the same rounds, so a machine that wanders by 20 % from round to
// round is no change, and intervals of unchanged builds hold 1 in 95 % of the cases.
func TestAgainstUnderDrift(t *testing.T) {
	trials := simulations(60)
	covered, alarms := 0, 0
	for i := range uint64(trials) {
		r := twoBuilds(i+1, 0, 0.03, 1)
		d := newDisk(i+1, 0.03)
		d.drift = 0.2
		for round := 1; round <= 15; round++ {
			d.nextRound()
			for _, variant := range []string{"a", "b"} {
				r.Results[0].Blocks = append(r.Results[0].Blocks, d.block(variant, RoleTimed, round, 20_000), d.block(variant, RoleAgainst, round, 20_000))
			}
		}
		got := r.CompareBuilds(CompareOptions{})
		if row := got.Rows[1]; row.Ratio.Lo <= 1 && 1 <= row.Ratio.Hi {
			covered++
		}
		if got.Outcome == Regression {
			alarms++
		}
	}
	t.Logf("of %d: %d covered, %d alarms", trials, covered, alarms)
	if covered < trials*9/10 || alarms > trials/100 {
		t.Errorf("of %d unchanged builds %d are covered, and %d called slower; want 95 %% and none", trials, covered, alarms)
	}
}

// A run of two builds is read as it was written, with its verdict, and the verdict is
// derived anew from the blocks.
func TestGateInJSON(t *testing.T) {
	r := twoBuilds(1, 8, 0.01, 1.5)
	r.Results[0].Blocks[0].Ops = 0 // a variant without a figure
	r.Build = &Build{Revision: "0123456789abcdef", Modified: true}
	r.Analyse()
	if r.Gate == nil || r.Gate.Outcome != Broken || len(r.Gate.Rows) != 2 || r.Gate.Rows[1].Outcome != Regression {
		t.Fatalf("the gate: %+v", r.Gate)
	}
	var file bytes.Buffer
	if err := r.Write(&file); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if got.Gate == nil || got.Gate.Rows[1].Ratio != r.Gate.Rows[1].Ratio || got.Build.Short() != "0123456789ab, modified" || got.Against.Program != "old" {
		t.Errorf("read: %+v, %+v, %+v", got.Gate, got.Build, got.Against)
	}
	if got.Analyse(); got.Gate.Rows[1].Ratio != r.Gate.Rows[1].Ratio || got.Gate.Outcome != Broken {
		t.Errorf("derived anew: %+v", got.Gate)
	}
}

// The interval of as many rounds as are planned at least leaves out a disturbed round at
// each end; that of the fewest that have an interval does not.
func TestPlannedRoundsBearDisturbedOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		rounds int
		bears  bool
	}{{stats.MinSamples(0.5, confidence), false}, {sturdyRounds, true}} {
		was, is := make([]float64, c.rounds), make([]float64, c.rounds)
		for i := range was {
			was[i], is[i] = 1, 1+rng.Float64()/100
		}
		is[0], is[1] = 1.5, 0.5
		e := stats.RatioPaired(is, was, confidence, rng, 10_000)
		if bears := e.Lo > 0.99 && e.Hi < 1.02; bears != c.bears {
			t.Errorf("%d rounds, two of them disturbed: [%.2f, %.2f]", c.rounds, e.Lo, e.Hi)
		}
	}
}
