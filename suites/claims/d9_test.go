package claims

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeD9(t *testing.T) {
	c := claimD9()
	of := func(raw, three func(ns int) run.Estimate) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 }).each(func(r *run.Result, v *run.VariantResult) {
			ns := suitetest.Int(t, r.Params["ns"])
			v.Metrics["truth_ns"], v.Metrics["reading_ns"] = suitetest.About(float64(ns)), suitetest.About(float64(ns+40))
			v.Metrics[uncorrected+"_error"], v.Metrics[subtractThree+"_error"] = raw(ns), three(ns)
			v.Metrics[subtractThousand+"_error"] = suitetest.About(0.01)
		}))
	}
	is := func(x float64) func(int) run.Estimate { return func(int) run.Estimate { return suitetest.About(x) } }
	expect(t, "right, and better than uncorrected", of(is(0.5), is(0.02)), Holds)
	expect(t, "wrong", of(is(0.5), is(0.3)), DoesNotHold)
	expect(t, "right, and no better than uncorrected", of(is(0.02), is(0.03)), DoesNotHold)
	got := of(is(0.5), func(ns int) run.Estimate { return suitetest.About(10 / float64(ns)) })
	expect(t, "right for long ones", got, Depends)
	if !strings.Contains(got.Why, "300 ns") || !strings.Contains(got.Why, "1000 ns") {
		t.Errorf("want the lengths: %s", got.Why)
	}
	expect(t, "wide", of(is(0.5), func(int) run.Estimate { return suitetest.Wide(0.1, 0.5) }), CannotTell)
}

// nearTruth reports whether D9's operation took about the requested time.
func nearTruth(t *testing.T, e *lab.Experiment, b run.Block) bool {
	t.Helper()
	want, got := float64(suitetest.Int(t, e.Params["ns"])), b.Metrics["truth_ns"]
	return got >= want/3 && got <= want*3
}

// checkD9 checks the errors that a block reports. It runs a block again whose operation took
// another time than it should, since another process may have had the processor.
func checkD9(t *testing.T, e *lab.Experiment, dir string, ops int64, b run.Block) {
	t.Helper()
	for try := 0; try < 5 && !nearTruth(t, e, b); try++ {
		var err error
		if b, err = lab.RunOnce(t.Context(), e, e.Variant(b.Variant), dir, ops, 7); err != nil {
			t.Fatal(err)
		}
	}
	if !nearTruth(t, e, b) {
		t.Errorf("%s: the operation took %.1f ns", e.ID(), b.Metrics["truth_ns"])
	}
	for _, way := range d9Ways {
		if x, ok := b.Metrics[way+"_error"]; !ok || math.IsNaN(x) {
			t.Errorf("%s reports no error of %s", e.ID(), way)
		}
	}
}

func TestChainIsLinear(t *testing.T) {
	steps, r := 0, 0.0
	for range 5 { // another process may interrupt one, or the clock frequency may change
		s := newStopwatch(1000)
		steps = s.steps
		// 20 times the steps give about 20 times the time.
		short, long := *s, *s
		long.steps *= 20
		best := func(s *stopwatch, n int) float64 {
			m := math.Inf(1)
			for range 200 { // on a busy machine some of the short rows run undisturbed
				m = min(m, s.row(n))
			}
			return m
		}
		if r = best(&long, 5) / best(&short, 100); steps >= 10 && r >= 15 && r <= 25 {
			return
		}
	}
	t.Errorf("a microsecond is %d steps, and 20 times the steps took %.1f times as long", steps, r)
}
