package run

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stele-go/stele/lab/stats"
)

// trials is the number of simulated experiments of a kind: a sample in CI, more with
// STELE_LONG=1.
func trials(sample int) int {
	if os.Getenv("STELE_LONG") != "" {
		return 50 * sample
	}
	return sample
}

// A sequence is an experiment of four ways that is looked at as it grows. The second of
// them takes ratio times as long as the others.
type sequence struct {
	cv     float64
	ratio  float64
	most   int  // rounds
	budget bool // rounds go to what they would settle: see lab's schedule
}

// run returns the result as a runner of lab leaves it.
func (s sequence) run(seed uint64) *Result {
	d := newDisk(seed, s.cv)
	rng := rand.New(rand.NewPCG(seed, 5))
	res := &Result{ID: "sim/job", Suite: "sim", Name: "job", Place: "disk", Variants: named(killPrefix, "a", "b", "c", "d")}
	r := &Run{Schema: Schema, Seed: seed, Places: []Place{{Name: "disk"}}, Results: []*Result{res},
		Settings: Settings{Rounds: s.most, Tolerance: 0.05, Test: TestBootstrap}}
	// The budget ends somewhere, which the noise of the experiment does not decide.
	end := s.most
	if s.budget {
		end = 6 + rng.IntN(s.most-5)
	}
	res.Stopped = StoppedRounds
	for round := 1; round <= end; round++ {
		d.nextRound()
		for _, v := range res.Variants {
			ns := 20_000.0
			if v.Name == "b" {
				ns *= s.ratio
			}
			res.Blocks = append(res.Blocks, d.block(v.Name, RoleTimed, round, ns))
		}
		res.Blocks = append(res.Blocks, d.block("a", RoleCalibration, round, 20_000))
		if round == end || round != stats.NextLook(round-1) {
			continue
		}
		if r.Look(r.Results, s.most) != "" {
			break
		}
		if res.Stopped = StoppedRounds; s.budget && hopeless(res, end) {
			break
		}
	}
	r.Analyse()
	return res
}

// hopeless reports whether no comparison would get its verdict before the end.
func hopeless(res *Result, end int) bool {
	for _, c := range res.Comparisons {
		if c.Verdict == CannotTell && c.RoundsNeeded > 0 && c.RoundsNeeded <= end {
			return false
		}
	}
	return true
}

// A tally counts what sequences came to.
type tally struct {
	runs, rounds       int
	wrong              int // experiments with a verdict that the truth contradicts
	found, same        int // verdicts on b
	covered, intervals int
	early              int
}

func (s sequence) tally(n int) (t tally) {
	for seed := range uint64(n) {
		res := s.run(seed + 1)
		t.runs++
		t.rounds += res.Rounds
		if res.Stopped != StoppedRounds {
			t.early++
		}
		wrong := false
		for _, c := range res.Comparisons {
			truth := 1.0
			if c.Variant == "b" {
				truth = s.ratio
				switch c.Verdict {
				case Slower:
					t.found++
				case Same:
					t.same++
				}
			}
			beyond := truth > 1+c.Tolerance
			wrong = wrong || c.Verdict == Faster || c.Verdict == Slower && !beyond || c.Verdict == Same && beyond
			t.intervals++
			if c.Ratio.Lo <= truth && truth <= c.Ratio.Hi {
				t.covered++
			}
		}
		for _, f := range res.Findings {
			wrong = wrong || f.Kind == FoundWinner && s.ratio >= 1
		}
		if wrong {
			t.wrong++
		}
	}
	return t
}

func (t tally) String() string {
	return fmt.Sprintf("%d experiments: %d wrong, intervals cover %.1f %%, b found in %d, same in %d, %d ended early, %.1f rounds on average",
		t.runs, t.wrong, 100*float64(t.covered)/float64(t.intervals), t.found, t.same, t.early, float64(t.rounds)/float64(t.runs))
}

// Whether a run ends early, at the end of a budget or with all of its rounds: an
// experiment of equal ways gets a wrong verdict in at most 5 % of all cases, and an
// interval covers the truth in at least 95 %. Blocks are lognormal, wander, and some are
// held up.
func TestLooksKeepTheErrorRate(t *testing.T) {
	for _, cv := range []float64{0.02, 0.05, 0.10, 0.30} {
		for _, budget := range []bool{false, true} {
			s := sequence{cv: cv, ratio: 1, most: 20, budget: budget}
			got := s.tally(trials(40))
			t.Logf("noise %.0f %%, budget %v: %v", 100*cv, budget, got)
			// The sample itself may be off by three standard errors.
			n := float64(got.runs)
			if share := float64(got.wrong) / n; share > 0.05+3*0.218/root(n) {
				t.Errorf("noise %.0f %%, budget %v: %v", 100*cv, budget, got)
			}
			if share := float64(got.covered) / float64(got.intervals); share < 0.95-3*0.218/root(n) {
				t.Errorf("noise %.0f %%, budget %v: %v", 100*cv, budget, got)
			}
		}
	}
}

func root(n float64) float64 { return math.Sqrt(n) }

// A way that takes 1.5 times as long is found, and mostly early.
func TestLooksFindALargeDifference(t *testing.T) {
	for cv, most := range map[float64]struct {
		rounds float64 // on average
		missed float64 // share
	}{0.03: {21, 0}, 0.10: {21, 0.01}, 0.15: {21, 0.05}, 0.20: {21, 0.15}} {
		got := sequence{cv: cv, ratio: 1.5, most: 20}.tally(trials(30))
		t.Logf("noise %.0f %%: %v", 100*cv, got)
		if share := 1 - float64(got.found)/float64(got.runs); share > most.missed+3*math.Sqrt(most.missed)/root(float64(got.runs)) || float64(got.rounds)/float64(got.runs) > most.rounds {
			t.Errorf("noise %.0f %%: %v", 100*cv, got)
		}
		if float64(got.covered)/float64(got.intervals) < 0.95-3*0.218/root(float64(got.runs)) {
			t.Errorf("noise %.0f %%: %v", 100*cv, got)
		}
	}
}
