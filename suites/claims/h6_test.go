package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeH6(t *testing.T) {
	c := claimH6()
	of := func(speed, allocations func(v string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			if v == madeFresh {
				return 182
			}
			return 182 / speed(v)
		})
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["allocs_per_op"] = suitetest.About(1)
			if v.Name != madeFresh {
				v.Metrics["allocs_per_op"] = suitetest.About(allocations(v.Name))
			}
		}))
	}
	is := func(x float64) func(string) float64 { return func(string) float64 { return x } }
	expect(t, "as claimed", of(is(3.9), is(0.002)), Holds)
	expect(t, "none at all", of(is(5), is(0)), Holds)
	expect(t, "alike", of(is(1), is(1)), DoesNotHold)
	expect(t, "allocations only", of(is(2), is(0)), DoesNotHold)
	got := of(is(5), func(v string) float64 {
		if v == h6Coded {
			return 1
		}
		return 0
	})
	expect(t, "as coded each Put allocates", got, Depends)
	if !strings.Contains(got.Why, "no with as coded") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	expect(t, "on the limit", of(is(182./47*(1-slack)), is(0)), CannotTell)
}

// As coded a buffer from the pool costs an allocation, as meant none.
func TestH6Allocations(t *testing.T) {
	e := h6("1")
	const ops = 20_000
	for name, want := range map[string]float64{madeFresh: 1, h6Coded: 1, h6Meant: 0} {
		b, err := lab.RunOnce(t.Context(), &e, e.Variant(name), t.TempDir(), ops, 7)
		if err != nil {
			t.Fatal(err)
		}
		// The race detector makes a pool drop some.
		if got := b.Metrics["allocs_per_op"]; got < want-0.1 || got > want+0.6 {
			t.Errorf("%s: %v allocations an operation, want %v", name, got, want)
		}
	}
}
