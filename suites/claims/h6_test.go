package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeH6(t *testing.T) {
	c := claimH6()
	of := func(speed, allocations float64) run.Claim {
		m := in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			if v == madeFresh {
				return 182
			}
			return 182 / speed
		})
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["allocs_per_op"] = suitetest.About(1)
			if v.Name == fromPool {
				v.Metrics["allocs_per_op"] = suitetest.About(allocations)
			}
		}))
	}
	expect(t, "as claimed", of(3.9, 0.002), Holds)
	expect(t, "none at all", of(5, 0), Holds)
	expect(t, "alike", of(1, 1), DoesNotHold)
	expect(t, "allocations only", of(2, 0), Depends)
	expect(t, "on the limit", of(182./47*(1-slack), 0), CannotTell)
}
