package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeH5(t *testing.T) {
	c := claimH5()
	falling := map[string]float64{h5OSync: 400, h5ODSync: 200, h5Batched: 100}
	made := func(over map[string]float64, lost float64) *made {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			if e.Name == "H5-overwrite" {
				return over[v]
			}
			return falling[v]
		})
		return m.each(func(r *run.Result, v *run.VariantResult) {
			if r.Name == "R11-cut" {
				v.Metrics[lostMetric(power.Appended)], v.Metrics[cutsMetric(power.Appended)] = exactly(lost), exactly(r11Cuts)
			}
		})
	}
	expect(t, "as claimed", judge(t, &c, made(falling, 12)), Holds)
	got := judge(t, &c, made(falling, 0))
	expect(t, "O_DSYNC keeps the size", got, DoesNotHold)
	if !strings.Contains(got.Why, "lost in 0 of 30 cuts") {
		t.Errorf("the reason: %s", got.Why)
	}
	expect(t, "not where it is written over", judge(t, &c, made(map[string]float64{h5OSync: 1, h5ODSync: 2, h5Batched: 3}, 12)), Depends)
	m := made(falling, 12)
	m.each(func(_ *run.Result, v *run.VariantResult) { v.Time = suitetest.Wide(v.Time.Median, 0.9) })
	expect(t, "wide", judge(t, &c, m), CannotTell)
	m = made(falling, 12)
	m.each(func(r *run.Result, v *run.VariantResult) {
		if r.Name == "R11-cut" {
			v.Time, v.Metrics = noEstimate, nil
		}
	})
	expect(t, "out of time before the power cuts", judge(t, &c, m), CannotTell)
	m = made(falling, 0)
	for _, r := range m.results[2:] {
		r.Variants[0].Error = "power cuts need root, to mount"
	}
	got = judge(t, &c, m)
	expect(t, "no power cuts", got, Holds)
	if !strings.Contains(got.Why, "need root") {
		t.Errorf("what was not tested is not named: %s", got.Why)
	}
}
