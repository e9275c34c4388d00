package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// cpus gives a place processors.
func (m *made) cpus(n int) *made {
	m.place.Environment.GOMAXPROCS, m.place.Environment.CPUs = n, n
	return m
}

func hundred(*lab.Experiment, string) float64 { return 100_000 }

func TestJudgeD6(t *testing.T) {
	c := claimD6()
	of := func(cpus int, read, write, tail func(keys string) float64) run.Claim {
		return judge(t, &c, in("d", "ext4").cpus(cpus).all(&c, hundred).each(func(r *run.Result, v *run.VariantResult) {
			k := r.Params["keys"]
			rate := map[string]float64{"reads_per_second": read(k), "writes_per_second": write(k), "op_p99_ns": 1 / tail(k)}
			for name, x := range rate {
				if v.Name == variantRWMutex {
					x = 1
				}
				v.Metrics[name] = suitetest.About(1000 * x)
			}
		}))
	}
	is := func(x float64) func(string) float64 { return func(string) float64 { return x } }
	known := func(keys string) float64 { return map[string]float64{"known": 4, "new": 0.5}[keys] }
	expect(t, "as claimed", of(16, is(2.5), is(3), is(3.5)), Holds)
	expect(t, "alike", of(16, is(1), is(1), is(1)), DoesNotHold)
	expect(t, "known keys only", of(16, is(2.5), known, is(3.5)), Depends)
	expect(t, "on the limit", of(16, is(96.7/42.1*0.9), is(3), is(3.5)), CannotTell)
	got := of(2, is(1), is(1), is(1))
	expect(t, "two processors", got, CannotTest)
	if !strings.Contains(got.Why, "2 processors, the claim is about 16") || !strings.Contains(got.Measured, "1.00x") {
		t.Errorf("want the number, and what was measured: %s; %s", got.Why, got.Measured)
	}
}
