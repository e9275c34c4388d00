package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeD2(t *testing.T) {
	c := claimD2()
	of := func(perLevel float64) run.Claim {
		m := in("d", "ext4").all(&c, loopTimes(func(*lab.Experiment) float64 { return 1 }))
		m.each(func(r *run.Result, v *run.VariantResult) {
			depth := 1
			if r.Params["depth"] != "" {
				depth = suitetest.Int(t, r.Params["depth"])
			}
			v.Syscalls["newfstatat"] = perLevel * float64(depth)
			v.Syscalls["mkdirat"] = float64(depth)
		})
		return judge(t, &c, m)
	}
	expect(t, "once a level", of(1), DoesNotHold)
	expect(t, "three times a level", of(3), Holds)
	expect(t, "now and then twice", of(1.3), Depends)

	uncounted := in("d", "ext4").all(&c, loopTimes(func(*lab.Experiment) float64 { return 1 }))
	uncounted.each(func(_ *run.Result, v *run.VariantResult) {
		v.Syscalls, v.Missing = nil, map[string]run.Reason{"syscalls": {Code: run.ReasonText, Text: "needs root"}}
	})
	got := judge(t, &c, uncounted)
	expect(t, "not counted", got, CannotTest)
	if !strings.Contains(got.Why, "needs root") {
		t.Errorf("the reason is not named: %s", got.Why)
	}
}
