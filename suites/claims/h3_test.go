package claims

import (
	"math"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeH3(t *testing.T) {
	c := claimH3()
	of := func(bytes, collections func(made bool) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 100 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics["alloc_bytes_per_op"], v.Metrics["gc_count"] = suitetest.About(1e4), suitetest.About(1000)
			if v.Name == fromPool {
				made := r.Name == "H3-made"
				v.Metrics["alloc_bytes_per_op"] = suitetest.About(1e4 / bytes(made))
				v.Metrics["gc_count"] = suitetest.About(1000 / collections(made))
			}
		}))
	}
	few := func() run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 100 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics["alloc_bytes_per_op"], v.Metrics["gc_count"] = suitetest.About(1e4), suitetest.About(40)
			if v.Name == fromPool {
				v.Metrics["alloc_bytes_per_op"], v.Metrics["gc_count"] = suitetest.About(1), suitetest.About(0)
			}
		}))
	}
	is := func(x float64) func(bool) float64 { return func(bool) float64 { return x } }
	expect(t, "as claimed", of(is(18), is(48)), Holds)
	expect(t, "no collection at all", of(is(18), is(math.Inf(1))), Holds)
	expect(t, "no collection in so little that A has but forty", few(), CannotTell)
	expect(t, "alike", of(is(1), is(1)), DoesNotHold)
	expect(t, "bytes only", of(is(18), is(2)), Depends)
	expect(t, "on the limit", of(is(16), is(48)), CannotTell)
}
