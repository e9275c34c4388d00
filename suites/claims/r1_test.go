package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestJudgeR1(t *testing.T) {
	c := claimR1(1)
	of := func(bufio, large, touched4, touched float64, size float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			r1Whole: 5e6, r1Bufio: 5e6 / bufio, r1Large: 5e6 / large,
			r1Touch4: 5e6 / bufio / touched4, r1Touch: 5e6 / bufio / touched,
		}))
		return judge(t, &c, m.sized(size))
	}
	expect(t, "as claimed", of(4.3, 4.3, 2, 2, r1Mapping), Holds)
	expect(t, "all alike", of(1, 1, 1, 1, r1Mapping), DoesNotHold)
	expect(t, "only what is not looked at", of(4.3, 4.3, 50, 0.5, r1Mapping), Depends)
	expect(t, "on the limit", of(850./200*(1-slack), 5, 2, 2, r1Mapping), CannotTell)
	if got := of(4.3, 4.3, 2, 2, 1<<28); !strings.Contains(got.Why, "268 MB, not the published 1.07 GB") {
		t.Errorf("a smaller file is not mentioned: %s", got.Why)
	}
	if got := of(4.3, 4.3, 2, 2, r1Mapping); strings.Contains(got.Why, "not the published") {
		t.Errorf("a file of full size is called smaller: %s", got.Why)
	}
}
