package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeH5(t *testing.T) {
	c := claimH5()
	of := func(over map[string]float64, spread float64) run.Claim {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			if e.Name == "H5-overwrite" {
				return over[v]
			}
			return map[string]float64{h5OSync: 400, h5ODSync: 200, h5Batched: 100}[v]
		})
		for _, r := range m.results {
			for i := range r.Comparisons {
				r.Comparisons[i].Ratio = suitetest.Wide(r.Comparisons[i].Ratio.Median, spread)
			}
		}
		return judge(t, &c, m)
	}
	falling := map[string]float64{h5OSync: 400, h5ODSync: 200, h5Batched: 100}
	expect(t, "in that order", of(falling, 0.01), Holds)
	expect(t, "not where it is written over", of(map[string]float64{h5OSync: 1, h5ODSync: 2, h5Batched: 3}, 0.01), Depends)
	expect(t, "wide", of(falling, 0.9), CannotTell)
	none := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 100 })
	expect(t, "all alike", judge(t, &c, none), DoesNotHold)
}
