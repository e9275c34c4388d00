package claims

import (
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC1(t *testing.T) {
	c := claimC1()
	of := func(coded, distinct float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, byVariant(map[string]float64{
			nameOne: 1000, "C1-coded/" + nameMany: 1000 * coded, "C1-distinct/" + nameMany: 1000 * distinct,
		})))
	}
	expect(t, "as claimed", of(6.6, 7), Holds)
	expect(t, "neither", of(1.5, 2), DoesNotHold)
	expect(t, "faster", of(0.5, 0.6), DoesNotHold)
	expect(t, "one reading", of(2, 7), Depends)
	expect(t, "on the limit", of(210.0/32*0.9, 7), CannotTell)
}
