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
	made := func(perLevel float64, a, b, looks func(existing int) float64) *made {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			existing := suitetest.Int(t, e.Params["existing"])
			switch v {
			case variantAll:
				return a(existing)
			case variantLookUps:
				return looks(existing)
			}
			return b(existing)
		})
		return m.each(func(r *run.Result, v *run.VariantResult) {
			if v.Name == variantAll {
				v.Syscalls["newfstatat"] = 1 + perLevel*float64(suitetest.Int(t, r.Params["depth"])-suitetest.Int(t, r.Params["existing"]))
			}
		})
	}
	is := func(x float64) func(int) float64 { return func(int) float64 { return x } }
	expect(t, "once a level, and most of the time", judge(t, &c, made(1, is(2000), is(1000), is(800))), Holds)
	expect(t, "hardly any of the time", judge(t, &c, made(1, is(2000), is(1000), is(100))), DoesNotHold)
	expect(t, "A is faster", judge(t, &c, made(1, is(1000), is(2000), is(800))), DoesNotHold)
	expect(t, "no look at a level", judge(t, &c, made(-0.5, is(2000), is(1000), is(800))), DoesNotHold)
	expect(t, "as the loop is written", judge(t, &c, made(1, is(2000), func(int) float64 { return 1000 }, is(800)).each(func(r *run.Result, v *run.VariantResult) {
		if v.Name == variantLoopCoded {
			v.Time = suitetest.About(2500)
		}
	})), Depends)
	expect(t, "the loop as coded looks too", judge(t, &c, made(1, is(2000), is(1000), is(800)).each(func(_ *run.Result, v *run.VariantResult) {
		if v.Name == variantLoopCoded {
			v.Syscalls["newfstatat"] = 1
		}
	})), Depends)
	expect(t, "existing paths are shown only", judge(t, &c, made(1, func(existing int) float64 {
		if existing == publishedDepth {
			return 500
		}
		return 2000
	}, is(1000), is(800))), Holds)
	expect(t, "on the limit", judge(t, &c, made(1, is(2000), is(1000), is(500))), CannotTell)

	uncounted := made(1, is(2000), is(1000), is(800)).each(func(_ *run.Result, v *run.VariantResult) {
		v.Syscalls, v.Missing = nil, map[string]run.Reason{"syscalls": {Code: run.ReasonText, Text: "needs root"}}
	})
	got := judge(t, &c, uncounted)
	expect(t, "not counted", got, Holds)
	if !strings.Contains(got.Why, "needs root") {
		t.Errorf("the reason is not named: %s", got.Why)
	}
}
