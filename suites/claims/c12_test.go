package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeC12(t *testing.T) {
	c := claimC12()
	of := func(reused, freeStack, allNew, spread float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		start := map[string]float64{c12Reused: reused, c12NewStack: reused, c12NewBoth: freeStack, c12AllNew: allNew}
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["start_ns"] = suitetest.Wide(start[v.Name], spread)
		}))
	}
	expect(t, "as claimed", of(80, 120, 240, 0.001), Holds)
	expect(t, "within ten points", of(70, 130, 240, 0.001), Holds)
	expect(t, "another split", of(200, 290, 300, 0.001), DoesNotHold)
	expect(t, "dear stacks", of(80, 120, 2000, 0.001), DoesNotHold)
	expect(t, "wide", of(80, 120, 240, 0.3), CannotTell)
}

// Figures of the same rounds are compared with each other: what slows a whole round down
// does not widen the interval.
func TestOverRounds(t *testing.T) {
	a, b := ofRound{}, ofRound{}
	for i := range 12 {
		b[i] = float64(100 * (1 + i%5))
		a[i] = 2 * b[i]
	}
	a[99] = 7 // a round without b
	if e, ok := overRounds(overOf, a, b); !ok || e.Lo != 2 || e.Hi != 2 || e.N != 12 {
		t.Errorf("got %+v, %v; want exactly 2 of 12 rounds", e, ok)
	}
	if _, ok := overRounds(overOf, a, ofRound{}); ok {
		t.Error("a ratio of nothing")
	}
}
