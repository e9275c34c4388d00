package claims

import (
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeC6(t *testing.T) {
	c := claimC6()
	of := func(cpus int, mean, tail func(call string) float64) run.Claim {
		return judge(t, &c, in("d", "ext4").cpus(cpus).all(&c, hundred).each(func(r *run.Result, v *run.VariantResult) {
			call := r.Params["call"]
			m, p := 1., 1.
			if v.Name == c6AtOnce {
				m, p = mean(call), tail(call)
			}
			v.Metrics[c6Mean], v.Metrics[c6Tail] = suitetest.About(8200*m), suitetest.About(12_500*p)
			v.Metrics[c6MutexWait] = suitetest.About(0)
		}))
	}
	is := func(x float64) func(string) float64 { return func(string) float64 { return x } }
	first := func(call string) float64 { return map[string]float64{c6First: 20, c6Done: 1}[call] }
	expect(t, "as claimed", of(16, is(18), is(36)), Holds)
	expect(t, "cheap", of(16, is(0.5), is(3)), DoesNotHold)
	expect(t, "first calls only", of(16, first, is(36)), Depends)
	expect(t, "on the limit", of(16, is(147.6/8.2*0.9), is(36)), CannotTell)
	expect(t, "two processors", of(2, is(1), is(1)), CannotTest)
}
