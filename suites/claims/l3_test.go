package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL3(t *testing.T) {
	c := claimL3()
	of := func(due, call, rate, collections float64) run.Claim {
		m := in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			if v == fromPool {
				return 1e5 / rate
			}
			return 1e5
		})
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			gain, gainCall, gc := 1., 1., 1000.
			if v.Name == fromPool {
				gain, gainCall, gc = due, call, 1000/collections
			}
			v.Metrics["line_mean_ns"] = suitetest.About(4e6 / gain)
			v.Metrics["call_mean_ns"], v.Metrics["call_p99_ns"] = suitetest.About(4e3/gainCall), suitetest.About(9e3)
			v.Metrics["lines_per_second"], v.Metrics["gc_count"] = suitetest.About(9990), suitetest.About(gc)
			r.Blocks = append(r.Blocks, run.Block{Variant: v.Name, Role: run.RoleTimed, Ops: 2})
		}))
	}
	got := of(2.4, 2.4, 1.7, 10)
	expect(t, "as claimed", got, Holds)
	if !strings.Contains(got.Measured, "30000 collections a minute") || !strings.Contains(got.Why, "blocks of 2 s") {
		t.Errorf("1000 collections in 2 s: %s; %s", got.Measured, got.Why)
	}
	expect(t, "nothing", of(1, 1, 1, 1), DoesNotHold)
	expect(t, "fewer collections only", of(1, 1, 1, 50), Depends)
	expect(t, "on the limit", of(4.2/1.8*(1-slack), 2.4, 1.7, 10), CannotTell)
}
