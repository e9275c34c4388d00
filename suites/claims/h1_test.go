package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeH1(t *testing.T) {
	c := claimH1()
	of := func(factor func(v string, grow bool) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			return 1e5 / factor(v, strings.Contains(e.Name, "grow"))
		})
		m.tails(func(r *run.Result, v *run.VariantResult) float64 {
			return 1e6 / factor(v.Name, strings.Contains(r.Name, "grow"))
		})
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics["gc_pause_ns"] = suitetest.About(1e6 / factor(v.Name, false))
		}))
	}
	times := func(x float64) func(string, bool) float64 {
		return func(v string, _ bool) float64 {
			if v == h1Plain {
				return 1
			}
			return x
		}
	}
	expect(t, "all twenty times", of(times(20)), Holds)
	expect(t, "all alike", of(times(1)), DoesNotHold)
	expect(t, "only where files are fresh", of(func(v string, grow bool) float64 {
		if v == h1Plain || grow {
			return 1
		}
		return 20
	}), Depends)

	// No collection in a few files with fsync is no saving.
	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e5 })
	m.tails(func(*run.Result, *run.VariantResult) float64 { return 1e6 })
	m.each(func(r *run.Result, v *run.VariantResult) {
		v.Metrics["gc_pause_ns"] = suitetest.About(1e6)
		if v.Name == h1Fsync {
			v.Metrics["gc_pause_ns"] = suitetest.About(0)
			r.Blocks[0].Ops = 100
		}
	})
	few := judge(t, &c, m)
	expect(t, "no collection in few files", few, DoesNotHold)
	if !strings.Contains(few.Measured, "no collection in as few as 100") {
		t.Errorf("not mentioned: %s", few.Measured)
	}

	// No p99 with an interval, no verdict.
	m = in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	m.each(func(_ *run.Result, v *run.VariantResult) { v.Metrics["gc_pause_ns"] = suitetest.About(1e6) })
	if got := judge(t, &c, m); got.Verdict != CannotTest || !strings.Contains(got.Why, "p99") {
		t.Errorf("no p99: %s: %s", got.Verdict, got.Why)
	}

	m = in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	m.results = m.results[:3]
	if got := judge(t, &c, m); got.Verdict != CannotTest || !strings.Contains(got.Why, "H1-grow-fsync") {
		t.Errorf("a result less: %s: %s", got.Verdict, got.Why)
	}
}
