package claims

import (
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeC4(t *testing.T) {
	c := claimC4()
	of := func(cpus int, faster float64) run.Claim {
		m := in("d", "ext4").cpus(cpus).all(&c, byVariant(map[string]float64{variantNamed: 210_000, variantSyncPool: 210_000 / faster}))
		m.each(func(_ *run.Result, v *run.VariantResult) { v.Metrics["files_made"] = suitetest.About(8) })
		return judge(t, &c, m)
	}
	expect(t, "as claimed", of(8, 23), Holds)
	expect(t, "hardly", of(8, 3), DoesNotHold)
	expect(t, "on the limit", of(8, 210/9.2*0.9), CannotTell)
	expect(t, "two processors", of(2, 300), CannotTest)
}
