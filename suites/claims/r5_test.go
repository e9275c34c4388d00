package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestJudgeR5(t *testing.T) {
	c := claimR5()
	of := func(open, fresh float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			r5Older: 1e4, "R5-open/" + r5Newer: 1e4 / open, "R5-fresh/" + r5Newer: 1e4 / fresh, r5Write: 1e4,
		}))
		m.place.Environment.Go = "go1.99"
		return judge(t, &c, m)
	}
	expect(t, "as claimed", of(1.5, 1.5), Holds)
	expect(t, "alike", of(1, 1.01), DoesNotHold)
	expect(t, "a file that stays open only", of(1.5, 1), Depends)
	got := of(420./285*(1-slack), 1.5)
	expect(t, "on the limit", got, CannotTell)
	if !strings.Contains(got.Why, "An older Go was not tested") || !strings.Contains(got.Why, "go1.99") {
		t.Errorf("what is missing is not mentioned: %s", got.Why)
	}
}
