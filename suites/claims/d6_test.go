package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeD6(t *testing.T) {
	c := claimD6()
	of := func(read, write, mixed float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			if v == variantRWMutex {
				return 100
			}
			return 100 / map[string]float64{"D6-read": read, "D6-write": write, "D6-mixed": mixed}[e.Name]
		}))
	}
	expect(t, "as claimed", of(2.5, 3, 3), Holds)
	expect(t, "alike", of(1, 1, 1), DoesNotHold)
	expect(t, "reads only", of(2.5, 0.5, 3), Depends)
	expect(t, "on the limit", of(96.7/42.1*0.9, 3, 3), CannotTell)
}
