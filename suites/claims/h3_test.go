package claims

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeH3(t *testing.T) {
	c := claimH3()
	of := func(a float64, bytes, collections func(v string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 100 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics["alloc_bytes_per_op"], v.Metrics["gc_count"] = suitetest.About(1e4), suitetest.About(a)
			if v.Name == h3Coded || v.Name == h3Meant {
				v.Metrics["alloc_bytes_per_op"] = suitetest.About(1e4 / bytes(v.Name))
				v.Metrics["gc_count"] = suitetest.About(a / collections(v.Name))
			}
		}))
	}
	is := func(x float64) func(string) float64 { return func(string) float64 { return x } }
	expect(t, "as claimed", of(1000, is(18), is(48)), Holds)
	expect(t, "no collection at all", of(1000, is(18), is(math.Inf(1))), Holds)
	expect(t, "no collection in so little that A has but forty", of(40, is(1e4), is(math.Inf(1))), CannotTell)
	expect(t, "alike", of(1000, is(1), is(1)), DoesNotHold)
	expect(t, "bytes only", of(1000, is(18), is(2)), DoesNotHold)
	got := of(1000, func(v string) float64 {
		if v == h3Coded {
			return 2
		}
		return 100
	}, is(48))
	expect(t, "as meant only", got, Depends)
	if !strings.Contains(got.Why, "no with as coded") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	expect(t, "on the limit", of(1000, is(16), is(48)), CannotTell)
}
