package claims

import (
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC1(t *testing.T) {
	c := claimC1()
	of := func(cpus int, coded, distinct float64) run.Claim {
		return judge(t, &c, in("d", "ext4").cpus(cpus).all(&c, byVariant(map[string]float64{
			nameOne: 1000, "C1-coded/" + nameMany: 1000 * coded, "C1-distinct/" + nameMany: 1000 * distinct,
		})))
	}
	expect(t, "as claimed", of(8, 6.6, 7), Holds)
	expect(t, "neither", of(8, 1.5, 2), DoesNotHold)
	expect(t, "faster", of(8, 0.5, 0.6), DoesNotHold)
	expect(t, "as titled only", of(8, 2, 7), Depends)
	expect(t, "26 files never say yes", of(8, 7, 2), DoesNotHold)
	expect(t, "on the limit", of(8, 6.6, 210.0/32*0.9), CannotTell)
	expect(t, "two processors", of(2, 1.5, 2), CannotTest)
}
