package run

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/durability"
)

var killPrefix = Writes(durability.Kill, durability.Prefix)

// disk is the noise of the simulated machine: what the blocks of one round
// share wanders, each block has lognormal noise of its own, and some are held
// up by something else.
type disk struct {
	rng      *rand.Rand
	cv       float64 // of a block's own noise
	outliers float64 // share of blocks held up 1.5 to 3 times
	drift    float64 // of the random walk from round to round
	level    float64
}

func newDisk(seed uint64, cv float64) *disk {
	return &disk{rng: rand.New(rand.NewPCG(seed, 77)), cv: cv, outliers: 0.04, drift: 0.04}
}

func (d *disk) nextRound() { d.level += d.drift * d.rng.NormFloat64() }

// block is one block of 1000 operations of about ns nanoseconds each.
func (d *disk) block(variant, role string, round int, ns float64) Block {
	wall := 1000 * ns * math.Exp(d.level+d.cv*d.rng.NormFloat64())
	if d.rng.Float64() < d.outliers {
		wall *= 1.5 + 1.5*d.rng.Float64()
	}
	return Block{Variant: variant, Role: role, Round: round, Ops: 1000, Batch: 1, Wall: Nanos(wall)}
}

// simulated is a run of two variants of the same promise, the second of which
// takes ratio times as long, with calibration.
func simulated(seed uint64, rounds int, d *disk, ratio float64) *Run {
	res := &Result{ID: "sim/job", Suite: "sim", Name: "job", Place: "disk", Variants: []VariantResult{
		{Name: "a", Promise: killPrefix, Baseline: true},
		{Name: "b", Promise: killPrefix},
	}}
	for round := 1; round <= rounds; round++ {
		d.nextRound()
		res.Blocks = append(res.Blocks,
			d.block("a", RoleTimed, round, 20_000),
			d.block("b", RoleTimed, round, 20_000*ratio),
			d.block("a", RoleCalibration, round, 20_000))
	}
	return &Run{
		Schema: Schema, Seed: seed, Places: []Place{{Name: "disk"}}, Results: []*Result{res},
		Settings: Settings{Rounds: rounds, Tolerance: 0.05, Test: TestBootstrap},
	}
}

// verdicts counts what runs of simulated say.
func verdicts(runs, rounds int, cv, ratio float64, test string) map[string]int {
	count := map[string]int{}
	for i := range runs {
		seed := uint64(i + 1)
		r := simulated(seed, rounds, newDisk(seed, cv), ratio)
		r.Settings.Test = test
		r.Analyse()
		count[r.Results[0].Comparisons[0].Verdict]++
	}
	return count
}

// Of 40 runs of one variant against itself at most one may say that there is
// a difference, whatever the noise.
func TestNoDifferenceIsNotFound(t *testing.T) {
	for _, cv := range []float64{0.05, 0.10} {
		got := verdicts(40, 20, cv, 1, TestBootstrap)
		t.Logf("noise of %.0f %%: %v", 100*cv, got)
		if got[Faster]+got[Slower] > 1 {
			t.Errorf("noise of %.0f %%: of 40 A/A runs %d say faster and %d slower", 100*cv, got[Faster], got[Slower])
		}
	}
}

// A variant that takes 15 % longer must be called slower in 18 runs of 20. The
// default of 20 rounds is enough where blocks repeat to 5 %; noisier disks
// need more rounds, and say "cannot tell" with fewer. Twice as many runs as
// the rule speaks of keep its own chance low.
func TestDifferenceIsFound(t *testing.T) {
	for _, c := range []struct {
		noise  float64
		rounds int
	}{{0.03, 20}, {0.05, 20}, {0.07, 40}, {0.10, 80}} {
		got := verdicts(40, c.rounds, c.noise, 1.15, TestBootstrap)
		t.Logf("noise of %.0f %%, %d rounds: %v", 100*c.noise, c.rounds, got)
		if got[Slower] < 36 {
			t.Errorf("noise of %.0f %%, %d rounds: slower in %d of 40 runs, want at least 36", 100*c.noise, c.rounds, got[Slower])
		}
		if got[Faster]+got[Same] > 0 {
			t.Errorf("noise of %.0f %%: 15 %% slower is called %v", 100*c.noise, got)
		}
	}
}

// The other tests must agree with the interval, so they can only turn faster
// and slower into cannot tell. They ignore the pairing, and the drift that
// rounds share hides differences from them.
func TestOtherTestsOnlyDoubt(t *testing.T) {
	plain := verdicts(20, 20, 0.05, 1.15, TestBootstrap)
	for _, test := range []string{TestWelch, TestMannWhitney} {
		got := verdicts(20, 20, 0.05, 1.15, test)
		t.Logf("%s: %v", test, got)
		if got[Slower] > plain[Slower] || got[Slower] == 0 || got[Faster]+got[Same] > 0 {
			t.Errorf("%s: %v, the interval alone: %v", test, got, plain)
		}
	}
}

// Where whatever runs second is slower, as after a cache was filled, the A/A
// calibration shows it, and no verdict may come from it.
func TestSystematicNoiseRaisesTheTolerance(t *testing.T) {
	count := map[string]int{}
	for i := range 40 {
		seed := uint64(i + 1)
		r := simulated(seed, 20, newDisk(seed, 0.02), 1)
		for k := range r.Results[0].Blocks {
			if k%3 != 0 {
				r.Results[0].Blocks[k].Wall += r.Results[0].Blocks[k].Wall / 8
			}
		}
		r.Analyse()
		count[r.Results[0].Comparisons[0].Verdict]++
		if i == 0 && r.Results[0].Noise.Floor < 0.1 {
			t.Errorf("the floor is %v, want about 0.125", r.Results[0].Noise.Floor)
		}
	}
	t.Log(count)
	if count[Faster]+count[Slower] > 1 {
		t.Errorf("of 40 A/A runs with a bias of 12.5 %%: %v", count)
	}
}
