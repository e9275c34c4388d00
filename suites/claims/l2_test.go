package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL2(t *testing.T) {
	c := claimL2()
	of := func(told, logs float64, misses func(v string) (run.Estimate, bool)) run.Claim {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			switch {
			case v == l2Lock:
				return 1200
			case e.Params["producers"] == "1":
				return 1200 / told
			}
			return 1200 / logs
		})
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics[l2Received] = exactly(1)
			if v.Name == l2Coded {
				v.Metrics[l2Received] = exactly(0)
			}
			if e, ok := misses(v.Name); ok {
				v.Metrics["cache_misses_per_op"] = e
				return
			}
			v.Missing = map[string]run.Reason{"cache_misses_per_op": {Code: run.ReasonText, Text: "this processor has no such counter"}}
		}))
	}
	uncounted := func(string) (run.Estimate, bool) { return noEstimate, false }
	counted := func(fewer float64) func(string) (run.Estimate, bool) {
		return func(v string) (run.Estimate, bool) {
			if v == l2Lock {
				return suitetest.About(8), true
			}
			return suitetest.About(8 / fewer), true
		}
	}
	got := of(14, 14, counted(9))
	expect(t, "as claimed", got, Holds)
	if !strings.Contains(got.Measured, "wrong result: 0 % of the entries arrived") {
		t.Errorf("the ring as coded is not told: %s", got.Measured)
	}
	got = of(14, 14, uncounted)
	expect(t, "as claimed, without a counter", got, Holds)
	if !strings.Contains(got.Why, "no such counter") {
		t.Errorf("the missing counter is not mentioned: %s; %s", got.Measured, got.Why)
	}
	expect(t, "no faster", of(2, 0.7, uncounted), DoesNotHold)
	expect(t, "as told only", of(14, 0.7, uncounted), Depends)
	expect(t, "as fast, and as many misses", of(14, 14, counted(1)), DoesNotHold)
	expect(t, "on the limit", of(1200./86*(1-slack), 14, uncounted), CannotTell)
}

// Every queue but the published one hands each entry over once and whole.
func TestL2QueuesLoseNothing(t *testing.T) {
	for _, l := range append(l2AsTold, l2ForLogs...) {
		e := l2(l)
		for i := range e.Variants {
			v := &e.Variants[i]
			if v.Name == l2Coded && raceEnabled {
				continue // it overwrites slots that a consumer may read
			}
			b, err := lab.RunOnce(t.Context(), &e, v, t.TempDir(), 20_000, 7)
			if err != nil {
				t.Fatalf("%s, %s: %v", l, v.Name, err)
			}
			if got := b.Metrics[l2Received]; (got == 1) != (v.Name != l2Coded) {
				t.Errorf("%s, %s: %v of the entries arrived", l, v.Name, got)
			}
		}
	}
}

// A receipt tells lost, doubled and torn entries.
func TestL2Receipt(t *testing.T) {
	for _, c := range []struct {
		got  l2Receipt
		want float64
	}{
		{l2Receipt{n: 4, sum: 10}, 1}, {l2Receipt{n: 3, sum: 6}, 0.75}, {l2Receipt{n: 4, sum: 9}, 0}, {l2Receipt{n: 4, sum: 10, torn: 1}, 0.75}, {l2Receipt{}, 0},
	} {
		if got := c.got.share(4, 10); got != c.want {
			t.Errorf("%+v: %v, want %v", c.got, got, c.want)
		}
	}
}
