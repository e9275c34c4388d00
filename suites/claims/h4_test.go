package claims

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeH4(t *testing.T) {
	c := claimH4()
	made := func(power func(v string) float64, spread float64) *made {
		m := in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			for _, s := range h4Sizes {
				if way, ok := strings.CutSuffix(v, ", "+s.name); ok {
					return 230 * math.Pow(float64(s.bytes+headerLen)/1024, power(way))
				}
			}
			return math.NaN()
		})
		return m.each(func(r *run.Result, v *run.VariantResult) {
			v.Time = suitetest.Wide(v.Time.Median, spread)
			v.Metrics[h4Join] = v.Time
		})
	}
	of := func(power func(v string) float64, spread float64) run.Claim { return judge(t, &c, made(power, spread)) }
	is := func(x float64) func(string) float64 { return func(string) float64 { return x } }
	expect(t, "as claimed", of(is(0.6), 0.01), Holds)
	expect(t, "linear", of(is(1), 0.01), DoesNotHold)
	expect(t, "more than linear", of(is(1.3), 0.01), Holds)
	expect(t, "wide", of(is(0.95), 0.3), CannotTell)
	got := of(func(v string) float64 {
		if v == h4Fresh {
			return 1.3
		}
		return 1
	}, 0.01)
	expect(t, "in new memory only", got, Depends)
	if !strings.Contains(got.Why, "yes with Go, new memory") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	m := made(is(1), 0.01)
	m.each(func(_ *run.Result, v *run.VariantResult) {
		if strings.HasPrefix(v.Name, h4Python) {
			v.Error = "python3 is not installed"
		}
	})
	got = judge(t, &c, m)
	expect(t, "no Python", got, DoesNotHold)
	if !strings.Contains(got.Measured, "Go, new memory") {
		t.Errorf("not mentioned: %s", got.Measured)
	}
}

func TestH4PythonJoins(t *testing.T) {
	e := h4()
	b, why := suitetest.RunOnce(t, &e, e.Variant(h4Name(h4Python, h4Sizes[0])), t.TempDir(), 1)
	if b == nil {
		t.Skip(why)
	}
	if x := b.Metrics[h4Join]; !(x > 0 && x < 1e9) {
		t.Errorf("a join of 1 KiB takes %v ns", x)
	}
}
