package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/internal/suitetest"
	"github.com/stele-go/stele/suites/rw"
)

// The variants of R9, R10 and R13 do their job and report what their judges need.
func TestRWClaimsRun(t *testing.T) {
	r9, r13 := r9(Small), r13(Small)
	mixed := r10(allProcessors)
	for _, c := range []struct {
		e       *lab.Experiment
		variant string
		metrics []string
	}{
		{&r9, r9Name(0, 2), []string{"request_p99_ns"}},
		{&r9, r9Name(128, 4), []string{"request_p99_ns"}},
		{&r13, r13Name(false, 4, 4), []string{"request_mean_ns"}},
		{&r13, r13Name(true, 4, 4), []string{"request_mean_ns"}},
		{&mixed, r10Name(r10Coded, 100), []string{rw.SchedMean, rw.IdleShare}},
		{&mixed, r10Name(r10Meant, 1000), []string{rw.SchedMean, rw.IdleShare}},
	} {
		b, why := suitetest.RunOnce(t, c.e, c.e.Variant(c.variant), t.TempDir(), 2000)
		if b == nil {
			t.Logf("%s cannot run here: %s", c.variant, why)
			continue
		}
		for _, m := range c.metrics {
			if x, ok := b.Metrics[m]; !ok || x < 0 {
				t.Errorf("%s: %s is %v (%v)", c.variant, m, x, b.Missing[m])
			}
		}
	}
}
