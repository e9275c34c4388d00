package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeR4(t *testing.T) {
	c := claimR4(1)
	sized := func(coded, meant, bytes float64) run.Claim {
		times := map[string]float64{r4Read: 1e4, r4Map4: 1e4 / coded, r4Copied: 1e4 / meant}
		m := in("d", "ext4").all(&c, byVariant(times))
		return judge(t, &c, m.sized(bytes).each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["read_p99_ns"], v.Metrics[mapMetric] = suitetest.About(9*times[v.Name]), suitetest.About(1e9)
			v.Metrics["minor_faults_per_op"] = suitetest.About(0.01)
		}))
	}
	of := func(coded, meant float64) run.Claim { return sized(coded, meant, r4File) }
	got := of(7, 7)
	expect(t, "as claimed", got, Holds)
	if !strings.Contains(got.Measured, "spread over 10,000 reads: 100.0 us each") {
		t.Errorf("populating is not shown: %s", got.Measured)
	}
	expect(t, "neither", of(1.5, 1.2), DoesNotHold)
	expect(t, "as coded only", of(10, 1.5), Depends)
	expect(t, "the mean only", of(4.5, 4.5), DoesNotHold)
	expect(t, "on the limit", of(89.3/14.6*(1-slack), 7), CannotTell)
	got = sized(7, 7, 1<<31)
	expect(t, "a file that is smaller", got, CannotTest)
	if !strings.Contains(got.Why, "Memory for a file of 8.59 GB: this one has 2.15 GB") || !strings.Contains(got.Measured, "7.00x") {
		t.Errorf("not mentioned: %s; %s", got.Why, got.Measured)
	}
}
