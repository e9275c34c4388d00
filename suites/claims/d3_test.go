package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
)

func TestJudgeD3(t *testing.T) {
	c := claimD3()
	at := func(name, fs string, create float64) *made {
		return in(name, fs).all(&c, func(_ *lab.Experiment, v string) float64 {
			if v == variantOpen {
				return 2000
			}
			return create
		})
	}
	xfs := at("x", "xfs", 5600)
	expect(t, "as claimed", judge(t, &c, at("e", "ext4", 8200), xfs), Holds)
	expect(t, "both alike", judge(t, &c, at("e", "ext4", 5600), xfs), DoesNotHold)
	expect(t, "on the limit", judge(t, &c, at("e", "ext4", 5600*8.2/5.6*0.75), xfs), CannotTell)
	got := judge(t, &c, at("e", "ext4", 8200), at("m", "tmpfs", 5600))
	expect(t, "ext4 only", got, CannotTest)
	if !strings.Contains(got.Why, "xfs") || !strings.Contains(got.Measured, "8200 ns") {
		t.Errorf("want what is missing and what there is: %s; %s", got.Why, got.Measured)
	}
}
