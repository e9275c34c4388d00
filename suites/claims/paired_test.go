package claims

import (
	"math"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

// A drift that both variants share cancels in a paired ratio.
func TestRatioOfIsPaired(t *testing.T) {
	r := &run.Result{ID: "x", Variants: []run.VariantResult{{Name: "a", Metrics: map[string]run.Estimate{"m": {Median: 1}}}, {Name: "b", Metrics: map[string]run.Estimate{"m": {Median: 1}}}}}
	for round := range 12 {
		drift := math.Pow(2, float64(round))
		r.Blocks = append(r.Blocks,
			run.Block{Variant: "a", Role: run.RoleTimed, Round: round, Metrics: map[string]float64{"m": 3 * drift}},
			run.Block{Variant: "b", Role: run.RoleCalibration, Round: round, Metrics: map[string]float64{"m": 1}})
		if round != 5 {
			r.Blocks = append(r.Blocks, run.Block{Variant: "b", Role: run.RoleTimed, Round: round, Metrics: map[string]float64{"m": drift}})
		}
	}
	ev := &evidence{results: map[string]*run.Result{"x": r}}
	if e := ev.ratioOf("x", "m", "a", "b"); e.Median != 3 || e.Lo != 3 || e.Hi != 3 || e.N != 11 {
		t.Errorf("got %+v, want 3 of 11 rounds", e)
	}
}

// A round without any of what the ratio is to counts: it has no upper limit, and nothing to
// nothing is no difference.
func TestRatioToNothing(t *testing.T) {
	of := func(over, under func(round int) float64) run.Estimate {
		a, b := ofRound{}, ofRound{}
		for round := range 12 {
			a[round], b[round] = over(round), under(round)
		}
		e, _ := overRounds(overOf, a, b)
		return e
	}
	is := func(x float64) func(int) float64 { return func(int) float64 { return x } }
	if e := of(is(3), is(0)); !math.IsInf(e.Median, 1) || !math.IsInf(e.Lo, 1) || claimed("q", e, 2).answer != yes {
		t.Errorf("some to nothing: %+v", e)
	}
	if e := of(is(0), is(0)); e.Median != 1 || e.Hi != 1 || claimed("q", e, 2).answer != no {
		t.Errorf("nothing to nothing: %+v", e)
	}
	e := of(is(4), func(round int) float64 { return float64(round % 2) })
	if e.Lo != 4 || !math.IsInf(e.Hi, 1) || claimed("q", e, 4).answer != yes || claimed("q", e, 5).answer != cannotTell {
		t.Errorf("to nothing in half of the rounds: %+v", e)
	}
}
