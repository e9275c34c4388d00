package run

import (
	"math"
	"testing"
)

// Where nothing is clear, it is said what could have been seen, and how many rounds
// would do: with too few rounds for an interval too.
func TestPowerIsKnown(t *testing.T) {
	for _, rounds := range []int{2, 3, 5, 6, 10} {
		r := simulated(11, rounds, newDisk(11, 0.15), 1.1)
		r.Analyse()
		res := r.Results[0]
		c, f := res.Comparisons[0], res.Findings[0]
		if c.Verdict != CannotTell {
			t.Fatalf("%d rounds: %+v", rounds, c)
		}
		if !(c.Visible > 0.05) || c.RoundsNeeded <= rounds || c.RoundsNeeded < 6 {
			t.Errorf("%d rounds: visible %v, %d needed", rounds, c.Visible, c.RoundsNeeded)
		}
		if f.Visible != c.Visible || f.RoundsNeeded != c.RoundsNeeded || f.Unclear[0].Visible != c.Visible {
			t.Errorf("%d rounds: the finding says %+v", rounds, f)
		}
	}
	one := simulated(11, 1, newDisk(11, 0.15), 1.1)
	one.Analyse()
	if c := one.Results[0].Comparisons[0]; c.Visible != 0 || c.RoundsNeeded != 0 {
		t.Errorf("from one round: %+v", c)
	}
	sure := simulated(11, 10, newDisk(11, 0.02), 1.5)
	sure.Analyse()
	if c := sure.Results[0].Comparisons[0]; c.Verdict != Slower || c.Visible != 0 || c.RoundsNeeded != 0 {
		t.Errorf("with a verdict: %+v", c)
	}
}

// A difference that is said to be visible is seen, mostly, in as many rounds of the
// same noise.
func TestVisibleDifferencesAreSeen(t *testing.T) {
	seen, runs := 0, 0
	for seed := range uint64(60) {
		equal := simulated(seed+1, 12, newDisk(seed+1, 0.12), 1)
		equal.Analyse()
		c := equal.Results[0].Comparisons[0]
		if c.Verdict != CannotTell {
			continue
		}
		runs++
		again := simulated(seed+1000, 12, newDisk(seed+1000, 0.12), 1+c.Visible)
		again.Analyse()
		if again.Results[0].Comparisons[0].Verdict == Slower {
			seen++
		}
	}
	t.Logf("%d of %d were seen", seen, runs)
	if runs < 20 || seen < runs*35/100 || seen > runs*97/100 {
		t.Errorf("%d of %d were seen, want about half or more", seen, runs)
	}
}

// The unclear variant that needs most decides for the finding, and 0 is more than any.
func TestFindingTakesTheLargest(t *testing.T) {
	for want, list := range map[int][]Unclear{
		30: {{Visible: 0.3, RoundsNeeded: 10}, {Visible: 0.1, RoundsNeeded: 30}},
		0:  {{Visible: 0.3, RoundsNeeded: 10}, {Visible: 0.1}},
	} {
		f := Finding{Unclear: list}
		f.sumUnclear()
		if f.RoundsNeeded != want || f.Visible != 0.3 {
			t.Errorf("%+v: visible %v, %d rounds", list, f.Visible, f.RoundsNeeded)
		}
	}
	if n := roundsNeeded(Estimate{Median: 1.05, Lo: 1, Hi: 1.1, Confidence: 0.95, N: 20}, 0.05); n != 0 {
		t.Errorf("on the edge of the tolerance: %d rounds", n)
	}
	if n := roundsNeeded(Estimate{Median: 1, Lo: math.NaN(), Hi: math.NaN()}, 0.05); n != 0 {
		t.Errorf("from nothing: %d rounds", n)
	}
}
