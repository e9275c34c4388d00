package claims

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeH8(t *testing.T) {
	c := claimH8()
	// saved are the buffers that a variant did not have to make, of the burst's.
	of := func(saved func(r *run.Result, v string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e4 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			n := float64(suitetest.Int(t, r.Params["burst"]))
			v.Metrics[h8New], v.Metrics["burst_mean_ns"] = suitetest.Wide(n, 0.001), suitetest.About(1e5)
			if v.Name != h8Cold {
				v.Metrics[h8New] = suitetest.Wide(n-saved(r, v.Name), 0.001)
			}
		}))
	}
	expect(t, "eight fewer", of(func(*run.Result, string) float64 { return 8 }), Holds)
	expect(t, "none fewer", of(func(*run.Result, string) float64 { return 0 }), DoesNotHold)
	got := of(func(_ *run.Result, v string) float64 {
		if v == h8Collected {
			return 0
		}
		return 8
	})
	expect(t, "dropped by two collections", got, Depends)
	if !strings.Contains(got.Why, "two collections before") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	got = of(func(r *run.Result, _ string) float64 {
		if r.Params["processors"] == oneProcessor {
			return 8
		}
		return 0
	})
	expect(t, "on one processor only", got, Depends)
	if !strings.Contains(got.Why, "yes with buffers given back at once, 1 processor") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	expect(t, "too few for 64", of(func(r *run.Result, _ string) float64 {
		if r.Params["burst"] == "64" {
			return 1
		}
		return 8
	}), DoesNotHold)
	expect(t, "on the limit", of(func(r *run.Result, _ string) float64 {
		if r.Params["burst"] == "64" {
			return 64 - 64/differs
		}
		return 8
	}), CannotTell)
}

// Where all are held at once each goroutine needs a buffer of its own, and the warm-up has
// eight of them.
func TestH8Counts(t *testing.T) {
	for _, burst := range []int{8, 64} {
		e := h8(burst, true, allProcessors)
		made := map[string]float64{}
		for _, v := range e.Variants {
			b, err := lab.RunOnce(t.Context(), &e, &v, t.TempDir(), 20, 7)
			if err != nil {
				t.Fatal(err)
			}
			made[v.Name] = b.Metrics[h8New]
		}
		// The race detector makes a pool drop some.
		if made[h8Cold] != float64(burst) || made[h8Warm] < float64(burst-8) || made[h8Warm] > float64(burst)-4 || made[h8Collected] != float64(burst) {
			t.Errorf("burst of %d: %v", burst, made)
		}
	}
}

func TestFewerTimes(t *testing.T) {
	none, some := exactly(0), exactly(3)
	now := run.Estimate{Median: 0, Lo: 0, Hi: 0.3, N: 10}
	for _, c := range []struct {
		name string
		a, b run.Estimate
		want answer
	}{
		{"six against three", exactly(6), some, yes},
		{"some against none", some, none, yes},
		{"none against none", none, none, no},
		{"none against some", none, some, no},
		{"now and then against none", now, none, cannotTell},
		{"none against now and then", none, now, no},
		{"now and then against the same", now, now, cannotTell},
		{"some against now and then", some, now, yes},
		{"without an interval", run.Estimate{Lo: math.NaN(), Hi: math.NaN(), N: 3}, none, cannotTell},
	} {
		if p := direction("q", fewerTimes(c.a, c.b)); p.answer != c.want {
			t.Errorf("%s: %v, %s", c.name, p.answer, p.figure)
		}
	}
}
