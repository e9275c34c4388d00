package claims

import (
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeR4(t *testing.T) {
	c := claimR4(1)
	of := func(coded, both float64) run.Claim {
		times := map[string]float64{r4Read: 1e4, r4Map4: 1e4 / coded, r4ReadTouch: 1e4, r4Map: 1e4 / both}
		m := in("d", "ext4").all(&c, byVariant(times))
		return judge(t, &c, m.sized(r4File).each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["read_mean_ns"], v.Metrics["read_p99_ns"] = suitetest.About(times[v.Name]), suitetest.About(9*times[v.Name])
		}))
	}
	expect(t, "as claimed", of(7, 7), Holds)
	expect(t, "neither", of(1.5, 1.2), DoesNotHold)
	expect(t, "as coded only", of(10, 1.5), Depends)
	expect(t, "on the limit", of(89.3/14.6*(1-slack), 7), CannotTell)
}
