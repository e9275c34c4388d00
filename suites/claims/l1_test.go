package claims

import (
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/logs"
)

func TestJudgeL1(t *testing.T) {
	c := claimL1()
	of := func(faster, shorter func(every string, level durability.Level) float64) run.Claim {
		level := func(v string) durability.Level { return logs.WayNamed(v).Promise.Level }
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			if logs.WayNamed(v).Baseline {
				return 125_000
			}
			return 125_000 / faster(e.Params["every"], level(v))
		})
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			ns := 142e6
			if !logs.WayNamed(v.Name).Baseline {
				ns /= shorter(r.Params["every"], level(v.Name))
			}
			for range 10 {
				h := run.NewHistogram()
				for range 400 {
					h.Record(int64(ns))
				}
				r.Blocks = append(r.Blocks, run.Block{Variant: v.Name, Role: run.RoleTimed, Latency: h})
			}
		}))
	}
	by := func(x float64) func(string, durability.Level) float64 {
		return func(string, durability.Level) float64 { return x }
	}
	expect(t, "as claimed", of(by(42./8), by(142./9)), Holds)
	expect(t, "alike", of(by(1), by(1)), DoesNotHold)
	expect(t, "more, but not sooner", of(by(6), by(2)), Depends)
	expect(t, "where nothing is synced only", of(func(_ string, l durability.Level) float64 {
		if l == durability.Kill {
			return 6
		}
		return 2
	}, by(20)), Depends)
	expect(t, "with many queries only", of(func(every string, _ durability.Level) float64 {
		if every == "25" {
			return 6
		}
		return 2
	}, by(20)), Depends)
}

// The load of L1 runs in every way, and each query finds its lines.
func TestL1Runs(t *testing.T) {
	e := l1(l1Every[0])
	for i := range e.Variants {
		const ops = l1Clients * 2 // four of them are queries
		b, err := lab.RunOnce(t.Context(), &e, &e.Variants[i], t.TempDir(), ops, 7)
		if err != nil || b.Ops != ops {
			t.Errorf("%s did %d operations of %d: %v", e.Variants[i].Name, b.Ops, ops, err)
		}
	}
}
