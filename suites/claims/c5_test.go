package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC5(t *testing.T) {
	c := claimC5()
	// write and create are ext4's and btrfs's times as shares of the claim.
	at := func(fs string, share float64) *made {
		claimed := c5Claimed[fs]
		if fs == "xfs" {
			share = 1
		}
		return in(fs, fs).all(&c, byVariant(map[string]float64{
			variantSetAside: claimed.mean * share, variantGrowing: claimed.mean * share, variantCreated: claimed.mean * share,
		})).tails(func(*run.Result, *run.VariantResult) float64 { return claimed.p99 * share * 1e6 })
	}
	three := func(share float64) []*made { return []*made{at("ext4", share), at("xfs", share), at("btrfs", share)} }
	expect(t, "as claimed", judge(t, &c, three(1.05)...), Holds)
	expect(t, "others", judge(t, &c, three(0.3)...), DoesNotHold)
	mixed := three(1)
	mixed[2] = at("btrfs", 3)
	expect(t, "ext4 only", judge(t, &c, mixed...), Depends)
	expect(t, "on the limit", judge(t, &c, three(1.25)...), CannotTell)

	got := judge(t, &c, at("ext4", 1), at("xfs", 1))
	expect(t, "no btrfs", got, CannotTest)
	if !strings.Contains(got.Why, "btrfs") {
		t.Errorf("not named: %s", got.Why)
	}
	few := three(1)
	for _, r := range few[0].results {
		r.Blocks[0].Latency = run.NewHistogram()
	}
	got = judge(t, &c, few...)
	expect(t, "no p99", got, CannotTell)
	if !strings.Contains(got.Measured, "at least 299 samples") {
		t.Errorf("not named: %s", got.Measured)
	}
}
