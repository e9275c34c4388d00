package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeC6(t *testing.T) {
	c := claimC6()
	of := func(mean, tail func(init, since string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			for _, since := range []string{"call", "released"} {
				v.Metrics[since+"_mean_ns"], v.Metrics[since+"_p99_ns"] = suitetest.About(8200), suitetest.About(9000)
				if v.Name == c6AtOnce {
					v.Metrics[since+"_mean_ns"] = suitetest.About(8200 * mean(r.Params["init"], since))
					v.Metrics[since+"_p99_ns"] = suitetest.About(8200 * tail(r.Params["init"], since))
				}
			}
		}))
	}
	is := func(x float64) func(string, string) float64 { return func(string, string) float64 { return x } }
	expect(t, "as claimed", of(is(18), is(52)), Holds)
	expect(t, "cheap", of(is(0.5), is(3)), DoesNotHold)
	expect(t, "files only", of(func(init, _ string) float64 {
		if init == initFile {
			return 18
		}
		return 1
	}, is(52)), Depends)
	expect(t, "on the limit", of(is(147.6/8.2*(1-slack)), is(52)), CannotTell)
}
