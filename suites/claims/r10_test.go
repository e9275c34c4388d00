package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
	"github.com/stele-go/stele/suites/rw"
)

func TestJudgeR10(t *testing.T) {
	c := claimR10()
	// wait and idle by goroutines, and by load or processors.
	of := func(wait, idle func(many bool, how string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1000 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			how, goroutines, _ := strings.Cut(v.Name, ", ")
			many := goroutines == "1000 goroutines"
			if how == r10Meant && r.Params["processors"] == oneProcessor {
				how = oneProcessor
			}
			v.Metrics[rw.SchedMean], v.Metrics[rw.SchedP99] = suitetest.About(wait(many, how)), suitetest.About(10*wait(many, how))
			v.Metrics[rw.IdleShare] = suitetest.About(idle(many, how))
		}))
	}
	by := func(few, many float64) func(bool, string) float64 {
		return func(m bool, _ string) float64 {
			if m {
				return many
			}
			return few
		}
	}
	expect(t, "as claimed", of(by(12_000, 89_000), by(0.31, 0.05)), Holds)
	expect(t, "nothing changes", of(by(12_000, 12_000), by(0.31, 0.31)), DoesNotHold)
	expect(t, "the wait only", of(by(12_000, 120_000), by(0.31, 0.31)), DoesNotHold)
	expect(t, "never idle", of(by(12_000, 120_000), by(0, 0)), DoesNotHold)
	expect(t, "all busy at last", of(by(12_000, 120_000), by(0.3, 0)), Holds)
	got := of(func(many bool, v string) float64 {
		if many && v == r10Coded {
			return 120_000
		}
		return 12_000
	}, by(0.31, 0.05))
	expect(t, "as coded only", got, Depends)
	if !strings.Contains(got.Why, "no with as meant, 1 processor; as meant, 2 processors") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	got = of(by(12_000, 120_000), func(many bool, how string) float64 {
		switch {
		case how == oneProcessor:
			return 0
		case many:
			return 0.05
		}
		return 0.31
	})
	expect(t, "one processor is never idle", got, Depends)
	if !strings.Contains(got.Why, "no with as meant, 1 processor") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	expect(t, "on the limit", of(by(12_000, 12_000*claimedWait*0.9), by(0.31, 0.05)), CannotTell)
	got = judge(t, &c, in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 }))
	expect(t, "no figures of the scheduler", got, CannotTest)
	if !strings.Contains(got.Why, rw.SchedMean) {
		t.Errorf("not named: %s", got.Why)
	}
}
