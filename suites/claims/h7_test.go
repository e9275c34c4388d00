package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeH7(t *testing.T) {
	c := claimH7()
	of := func(each float64, commit func(n int64) float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			for _, n := range h7Sizes {
				if v == h7Commit(n) {
					return commit(n)
				}
			}
			if v == h7SyncEach {
				return each
			}
			return 100
		}))
	}
	is := func(x float64) func(int64) float64 { return func(int64) float64 { return x } }
	expect(t, "as claimed", of(5000, is(130)), Holds)
	expect(t, "syncs cost nothing, commits much", of(120, is(1000)), DoesNotHold)
	expect(t, "large commits only", of(5000, func(n int64) float64 { return 100 + 1e5/float64(n) }), Depends)
	expect(t, "on the limit", of(5000, is(100*1.1/0.8*(1+slack))), CannotTell)
}
