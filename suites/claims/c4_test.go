package claims

import (
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeC4(t *testing.T) {
	c := claimC4()
	of := func(empty, full float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			variantNamed: 210_000, variantSyncPool: 210_000 / empty, variantFullPool: 210_000 / full,
		}))
		m.each(func(_ *run.Result, v *run.VariantResult) { v.Metrics["files_made"] = suitetest.About(8) })
		return judge(t, &c, m)
	}
	expect(t, "as claimed", of(23, 40), Holds)
	expect(t, "neither", of(3, 4), DoesNotHold)
	expect(t, "filled only", of(3, 40), Depends)
	expect(t, "on the limit", of(210/9.2*0.9, 40), CannotTell)
}
