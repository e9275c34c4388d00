package claims

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeD7(t *testing.T) {
	c := claimD7()
	// Throughput grows with the jobs up to a knee.
	at := func(fs string, each float64, share float64, knee ...float64) *made {
		m := in(fs, fs).onImage("/images").all(&c, func(e *lab.Experiment, v string) float64 {
			k := knee[0]
			if v == variantWriteSync {
				k = knee[len(knee)-1]
			}
			return each / math.Min(float64(suitetest.Int(t, e.Params["jobs"])), k)
		})
		return m.each(func(_ *run.Result, v *run.VariantResult) { v.Time = suitetest.Wide(v.Time.Median, share) })
	}
	// With knees at 4 and 16 XFS writes 4 times as much where a write takes as long.
	ext4, xfs := at("ext4", 1e6, 0.01, 4), at("xfs", 1e6, 0.01, 16)
	expect(t, "as claimed", judge(t, &c, ext4, xfs), Holds)
	expect(t, "within a factor 2", judge(t, &c, at("ext4", 1e6, 0.01, 2), at("xfs", 1e6, 0.01, 8)), Holds)
	expect(t, "ext4 at 16", judge(t, &c, at("ext4", 3e6, 0.01, 16), xfs), DoesNotHold)
	// A knee past 32 jobs is not within a factor 2 of 16, one at 32 is: 64 were not tried.
	got := judge(t, &c, ext4, at("xfs", 1e6, 0.01, 64))
	expect(t, "XFS never stops", got, CannotTell)
	if !strings.Contains(got.Why, "still grows up to 32 jobs") {
		t.Errorf("the reason is not named: %s", got.Why)
	}
	expect(t, "ext4 never stops", judge(t, &c, at("ext4", 9e6, 0.01, 64), xfs), DoesNotHold)
	expect(t, "XFS no faster", judge(t, &c, ext4, at("xfs", 4e6, 0.01, 16)), DoesNotHold)
	expect(t, "as coded only", judge(t, &c, at("ext4", 1e6, 0.01, 4, 16), at("xfs", 1e5, 0.01, 16)), Depends)
	expect(t, "wide intervals", judge(t, &c, at("ext4", 1e6, 0.4, 4), xfs), CannotTell)
	expect(t, "ext4 alone, its knee as claimed", judge(t, &c, ext4), Holds)
	expect(t, "tmpfs", judge(t, &c, at("tmpfs", 1e6, 0.01, 4)), CannotTest)
}
