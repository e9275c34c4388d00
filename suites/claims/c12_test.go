package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeC12(t *testing.T) {
	c := claimC12()
	of := func(reused, newStack, newBoth, allNew, spread float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		start := map[string]float64{c12Reused: reused, c12NewStack: newStack, c12NewBoth: newBoth, c12AllNew: allNew}
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["start_ns"] = suitetest.Wide(start[v.Name], spread)
		}))
	}
	expect(t, "as claimed", of(80, 200, 240, 240, 0.001), Holds)
	expect(t, "another split", of(200, 210, 300, 300, 0.001), DoesNotHold)
	expect(t, "as claimed with the stack at hand", of(80, 200, 240, 2000, 0.001), Depends)
	expect(t, "wide", of(80, 200, 240, 240, 0.3), CannotTell)
}
