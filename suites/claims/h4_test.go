package claims

import (
	"math"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeH4(t *testing.T) {
	c := claimH4()
	of := func(power float64, spread float64) run.Claim {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, _ string) float64 {
			for _, s := range h4Sizes {
				if s.name == e.Params["payload"] {
					return 230 * math.Pow(float64(s.bytes)/1024, power)
				}
			}
			return math.NaN()
		})
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) { v.Time = suitetest.Wide(v.Time.Median, spread) }))
	}
	expect(t, "as claimed", of(0.6, 0.01), Holds)
	expect(t, "linear", of(1, 0.01), DoesNotHold)
	expect(t, "more than linear", of(1.3, 0.01), DoesNotHold)
	expect(t, "wide", of(0.9, 0.5), CannotTell)
	expect(t, "the first step only", of(0.9, 0.01), Depends) // 10^0.9 is 0.79 of 10
}
