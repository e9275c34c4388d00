package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// temps makes up the results of C10's and C15's experiments: how many times A's rate a variant
// has, and how many times shorter its latency is.
func temps(c *Claim, rate, latency map[string]float64) *made {
	at := func(m map[string]float64, v string) float64 {
		if x, ok := m[v]; ok {
			return x
		}
		return 1
	}
	return in("d", "ext4").all(c, func(_ *lab.Experiment, v string) float64 { return 800_000 / at(rate, v) }).
		each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["file_mean_ns"] = suitetest.About(47_200_000 / at(latency, v.Name))
			v.Metrics["syscalls_per_op"] = suitetest.About(8)
		})
}

func TestJudgeC10(t *testing.T) {
	c := claimC10()
	of := func(b, c10, bSooner, cSooner float64) run.Claim {
		return judge(t, &c, temps(&c, map[string]float64{variantTempShm: b, variantSlices: c10, variantDup: 1000},
			map[string]float64{variantTempShm: bSooner, variantSlices: cSooner, variantDup: 1000}))
	}
	expect(t, "as claimed", of(7.2, 17.4, 15.3, 59), Holds)
	expect(t, "better", of(20, 500, 50, 900), Holds)
	expect(t, "nothing", of(1.5, 3, 2, 5), DoesNotHold)
	expect(t, "memory only", of(1.5, 500, 2, 900), DoesNotHold)
	// As coded nothing is kept, so its speed is no yes.
	expect(t, "fast as coded only", of(20, 3, 50, 5), DoesNotHold)
	expect(t, "on the limit", of(8900.0/1240*0.9, 17.4, 15.3, 59), CannotTell)

	m := temps(&c, nil, nil)
	for _, r := range m.results {
		r.Variants[0].Error = "too few inodes"
	}
	got := judge(t, &c, m)
	expect(t, "no room", got, CannotTest)
	if !strings.Contains(got.Why, "inodes") {
		t.Errorf("not named: %s", got.Why)
	}
}

func TestSliceIsFullAtItsEnd(t *testing.T) {
	s := &slice{mem: make([]byte, 8)}
	if n, err := s.Write(make([]byte, 6)); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := s.Write(make([]byte, 6)); n != 2 || err == nil {
		t.Errorf("wrote %d bytes past the end: %v", n, err)
	}
}
