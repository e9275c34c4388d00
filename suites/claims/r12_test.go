package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeR12(t *testing.T) {
	c := claimR12()
	of := func(freeVolume, freeCaller, pacedVolume, pacedCaller float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 5e6 })
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			volume, caller := freeVolume, freeCaller
			if v.Name == r12Paced {
				volume, caller = pacedVolume, pacedCaller
			}
			v.Metrics[r12Volume], v.Metrics[r12Caller] = suitetest.About(volume*1e6), suitetest.About(caller*1e6)
		}))
	}
	expect(t, "short for both", of(160, 160, 5, 20), Holds)
	expect(t, "short for the volume alone", of(160, 160, 5, 170), Depends)
	expect(t, "neither", of(10, 10, 160, 170), DoesNotHold)
	expect(t, "on the limit", of(160, 160, 50, 20), CannotTell)

	m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
	m.results[0].Variants[0].Error = "only root can mount"
	got := judge(t, &c, m)
	expect(t, "no root", got, CannotTest)
	if !strings.Contains(got.Why, "root") {
		t.Errorf("not mentioned: %s", got.Why)
	}
}
