package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeD4(t *testing.T) {
	c := claimD4()
	of := func(one, levels float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			return map[string]float64{variantFile4: 94, variantMkdir3: one, variantLevels3: levels}[v]
		}))
	}
	expect(t, "as claimed", of(127, 127), Holds)
	expect(t, "neither", of(94, 300), DoesNotHold)
	expect(t, "one reading", of(127, 300), Depends)
	expect(t, "on the limit", of(127*1.25, 127*1.25), CannotTell)
}
