package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
	"github.com/stele-go/stele/suites/syncs"
)

func TestJudgeR7(t *testing.T) {
	c := claimR7()
	// A mean of milliseconds, and jitter that is a share of it up to a rate and three times that share above.
	of := func(ms, share float64, from int) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return ms * 1e6 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			sd := share * ms * 1e6
			if suitetest.Int(t, r.Params["hz"]) >= from {
				sd *= 3
			}
			v.Metrics[syncs.JitterMetric] = suitetest.About(sd)
			v.Latency = []run.Percentile{{P: 50, NS: ms * 1e6}, {P: 99, NS: 2 * ms * 1e6}}
		}))
	}
	got := of(5.2, 3.8/5.2, 120)
	expect(t, "the fast tier as claimed", got, Holds)
	if !strings.Contains(got.Measured, "jump at 120 a second") || !strings.Contains(got.Measured, "p99 - p50 5.2 ms") {
		t.Errorf("not mentioned: %s", got.Measured)
	}
	expect(t, "the slow tier as claimed", of(18.6, 11.4/18.6, 20), Holds)
	expect(t, "even, and no jump", of(5.2, 0.05, 1000), DoesNotHold)
	expect(t, "a jump elsewhere, the jitter as claimed", of(5.2, 3.8/5.2, 200), Depends)

	m := in("d", "tmpfs").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	expect(t, "in memory", judge(t, &c, m), CannotTest)
}
