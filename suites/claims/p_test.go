package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// cut makes up power cuts: how many lost something and left neither content, by variant.
func cut(c *Claim, lost, torn func(v string) float64) *made {
	m := in("d", "ext4").all(c, func(*lab.Experiment, string) float64 { return 1e9 })
	return m.each(func(_ *run.Result, v *run.VariantResult) {
		v.Metrics[cutsMade], v.Metrics[cutsLost], v.Metrics[p2Torn] = suitetest.About(pCuts), suitetest.About(lost(v.Name)), suitetest.About(torn(v.Name))
	})
}

func TestJudgeP(t *testing.T) {
	is := func(n float64) func(string) float64 { return func(string) float64 { return n } }
	syncless := func(n float64) func(string) float64 {
		return func(v string) float64 {
			if v == p2None || v == p1Close {
				return n
			}
			return 0
		}
	}
	c := claimP1()
	expect(t, "Close loses nothing", judge(t, &c, cut(&c, is(0), is(0))), Holds)
	expect(t, "Close loses files", judge(t, &c, cut(&c, syncless(20), is(0))), DoesNotHold)
	c = claimP2()
	expect(t, "nothing is lost", judge(t, &c, cut(&c, is(0), is(0))), Holds)
	expect(t, "by the syncs", judge(t, &c, cut(&c, syncless(20), syncless(3))), Depends)
	expect(t, "always lost", judge(t, &c, cut(&c, is(20), is(3))), DoesNotHold)
	m := cut(&c, is(0), is(0)).each(func(_ *run.Result, v *run.VariantResult) { v.Error = "crashtest: unavailable" })
	expect(t, "without power-cut images", judge(t, &c, m), CannotTest)
}

// Real power cuts: what is synced is kept; what is not synced is lost.
func TestPowerCutsOfStatements(t *testing.T) {
	type statement struct {
		e    lab.Experiment
		lost map[string]bool
	}
	var all []statement
	for _, fs := range cutSystems {
		all = append(all, statement{p1(fs), map[string]bool{p1Close: true, p1Sync: false}},
			statement{p2(fs), map[string]bool{p2None: true, p2Two: false}})
	}
	for _, c := range all {
		for name, lost := range c.lost {
			b, err := lab.RunOnce(t.Context(), &c.e, c.e.Variant(name), t.TempDir(), 1, 7)
			if b.Unsupported {
				t.Skip(err)
			}
			if err != nil || b.Metrics[cutsMade] < 10 || (b.Metrics[cutsLost] > 0) != lost {
				t.Errorf("%s, %s: %v (%v)", c.e.ID(), name, b.Metrics, err)
			}
			if !lost && b.Metrics[p2Torn] > 0 {
				t.Errorf("%s, %s: %v cuts left neither content", c.e.ID(), name, b.Metrics[p2Torn])
			}
		}
	}
}
