package claims

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC5(t *testing.T) {
	c := claimC5()
	// Times of XFS and btrfs are the published ones, by a power of their distance from ext4.
	at := func(fs string, coded, meant float64) *made {
		from := func(x, base, power float64) float64 { return base * math.Pow(x/base, power) }
		e, own := c5Claimed["ext4"], c5Claimed[fs]
		power := map[string]float64{variantSetAside: coded, variantCreated: meant}
		return in(fs, fs).onImage("/images").all(&c, func(_ *lab.Experiment, v string) float64 {
			return from(own.mean, e.mean, power[v]) * 1e6
		}).tails(func(_ *run.Result, v *run.VariantResult) float64 { return from(own.p99, e.p99, power[v.Name]) * 1e6 })
	}
	three := func(coded, meant float64) []*made {
		return []*made{at("ext4", 1, 1), at("xfs", coded, meant), at("btrfs", coded, meant)}
	}
	expect(t, "as claimed", judge(t, &c, three(1.1, 1.1)...), Holds)
	expect(t, "all alike", judge(t, &c, three(0, 0)...), DoesNotHold)
	expect(t, "as coded only", judge(t, &c, three(1.1, 0)...), Depends)
	expect(t, "XFS and ext4 alike", judge(t, &c, at("ext4", 1, 1), at("xfs", 0, 0), at("btrfs", 1.1, 1.1)), DoesNotHold)
	limit := three(1.1, 1.1)
	for _, r := range limit[1].results {
		for i := range r.Blocks {
			b := &r.Blocks[i] // XFS is as fast as 0.9 of the claim in some rounds, and slower in others
			b.Wall = run.Nanos(float64(b.Ops) * 6.5e6 / 0.9 * (0.945 + 0.01*float64(b.Round)))
		}
	}
	expect(t, "on the limit", judge(t, &c, limit...), CannotTell)

	got := judge(t, &c, at("ext4", 1, 1), at("xfs", 1.1, 1.1))
	expect(t, "no btrfs", got, Holds)
	if !strings.Contains(got.Why, "btrfs") {
		t.Errorf("not named: %s", got.Why)
	}
	elsewhere := three(1.1, 1.1)
	elsewhere[1].onImage("/elsewhere")
	elsewhere[2].onImage("/elsewhere")
	expect(t, "other devices", judge(t, &c, elsewhere...), CannotTest)
	few := three(1.1, 1.1)
	for _, m := range few {
		for _, r := range m.results {
			for i := range r.Blocks {
				r.Blocks[i].Latency = run.NewHistogram()
			}
		}
	}
	got = judge(t, &c, few...)
	expect(t, "too few for a p99", got, CannotTell)
	if !strings.Contains(got.Why, "at least 299 samples") {
		t.Errorf("not named: %s", got.Why)
	}
}
