package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeR7(t *testing.T) {
	c := claimR7()
	// A mean of milliseconds, and jitter that is a share of it up to a rate and three times
	// that share above, to within a spread.
	of := func(kind, ms, share float64, from int, spread float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return ms * 1e6 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			jitter := share * ms * 1e6
			if suitetest.Int(t, r.Params["hz"]) >= from {
				jitter *= 3
			}
			v.Metrics[r7VolumeType] = exactly(kind)
			v.Latency = []run.Percentile{{P: 50, NS: ms * 1e6, Lo: ms * 1e6, Hi: ms * 1e6}, {P: 99, NS: ms*1e6 + jitter, Lo: ms*1e6 + jitter*(1-spread), Hi: ms*1e6 + jitter*(1+spread)}}
		}))
	}
	got := of(1, 5.2, 3.8/5.2, 100, 0.01)
	expect(t, "PL-X as claimed", got, Holds)
	if !strings.Contains(got.Measured, "jump at 100 a second") || !strings.Contains(got.Why, "PL3") {
		t.Errorf("not mentioned: %s; %s", got.Measured, got.Why)
	}
	expect(t, "PL3 as claimed", of(2, 18.6, 11.4/18.6, 16, 0.01), Holds)
	expect(t, "a jump just below", of(2, 18.6, 11.4/18.6/3, 12, 0.01), Holds)
	expect(t, "even, and no jump", of(1, 5.2, 0.05, 1000, 0.01), DoesNotHold)
	expect(t, "a jump elsewhere, the jitter as claimed", of(1, 5.2, 3.8/5.2, 200, 0.01), DoesNotHold)
	expect(t, "wide", of(1, 5.2, 3.8/5.2, 100, 0.6), CannotTell)
	got = of(0, 5.2, 3.8/5.2, 100, 0.01)
	expect(t, "another volume, whatever its curve", got, CannotTest)
	if !strings.Contains(got.Why, volumeTypeEnv+"=essd-pl3") || !strings.Contains(got.Measured, "100 a second): 5.2 ms +11.4 ms") {
		t.Errorf("not mentioned: %s; %s", got.Why, got.Measured)
	}

	m := in("d", "tmpfs").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	expect(t, "in memory", judge(t, &c, m), CannotTest)
}
