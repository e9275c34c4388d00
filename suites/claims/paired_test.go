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
