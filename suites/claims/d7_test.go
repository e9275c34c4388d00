package claims

import (
	"math"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeD7(t *testing.T) {
	c := claimD7()
	// Throughput grows with the jobs up to a knee.
	at := func(fs string, knee map[string]float64, share float64) *made {
		m := in("d", fs).all(&c, func(e *lab.Experiment, v string) float64 {
			return 1e6 / math.Min(float64(suitetest.Int(t, e.Params["jobs"])), knee[v])
		})
		return m.each(func(_ *run.Result, v *run.VariantResult) { v.Time = suitetest.Wide(v.Time.Median, share) })
	}
	both := func(k float64) map[string]float64 {
		return map[string]float64{variantAIO: k, variantGoroutines: k}
	}
	expect(t, "ext4 as claimed", judge(t, &c, at("ext4", both(4), 0.01)), Holds)
	expect(t, "ext4 at 16", judge(t, &c, at("ext4", both(16), 0.01)), DoesNotHold)
	expect(t, "XFS at 16", judge(t, &c, at("xfs", both(16), 0.01)), Holds)
	expect(t, "never stops", judge(t, &c, at("xfs", both(64), 0.01)), DoesNotHold)
	expect(t, "one of two", judge(t, &c, at("ext4", map[string]float64{variantAIO: 4, variantGoroutines: 16}, 0.01)), Depends)
	expect(t, "wide intervals", judge(t, &c, at("ext4", both(4), 0.4)), CannotTell)
	expect(t, "tmpfs", judge(t, &c, at("tmpfs", both(4), 0.01)), CannotTest)

	// One verdict a place.
	ext4, xfs := at("ext4", both(4), 0.01), at("xfs", both(4), 0.01)
	ext4.place.Name, xfs.place.Name = "e", "x"
	for _, m := range []*made{ext4, xfs} {
		for _, r := range m.results {
			r.Place = m.place.Name
		}
	}
	got := c.Judge(append(ext4.results, xfs.results...), []run.Place{ext4.place, xfs.place})
	if len(got) != 2 || got[0].Verdict != Holds || got[0].Place != "e" || got[1].Verdict != DoesNotHold || got[1].Place != "x" {
		t.Errorf("two places: %+v", got)
	}
}
