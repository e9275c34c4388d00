package claims

import (
	"math"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeR3(t *testing.T) {
	c := claimR3()
	of := func(buffers, all func(held bool) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			n, held := float64(suitetest.Int(t, r.Params["reads"])), r.Name == "R3-held"
			v.Metrics[r3Made], v.Metrics["allocs_per_op"] = suitetest.About(n), suitetest.About(4*n)
			if v.Name == fromPool {
				v.Metrics[r3Made], v.Metrics["allocs_per_op"] = suitetest.About(n/buffers(held)), suitetest.About(4*n/all(held))
			}
		}))
	}
	is := func(x float64) func(bool) float64 { return func(bool) float64 { return x } }
	expect(t, "as claimed", of(is(13), is(13)), Holds)
	expect(t, "no buffer at all", of(is(math.Inf(1)), is(13)), Holds)
	expect(t, "none saved", of(is(1), is(1)), DoesNotHold)
	expect(t, "buffers only", of(is(13), is(1.3)), Depends)
	expect(t, "not when all are in flight", of(func(held bool) float64 {
		if held {
			return 2
		}
		return 100
	}, is(13)), Depends)
	expect(t, "on the limit", of(is(492./41*(1-slack)), is(13)), CannotTell)
}
