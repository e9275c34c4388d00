package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeR5(t *testing.T) {
	c := claimR5()
	made := func(gain func(file string) float64) *made {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e6 })
		return m.each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics[r5CopyNS], v.Metrics[r5CopyAllocs] = suitetest.About(1e4), exactly(1)
			if v.Name == r5New {
				v.Metrics[r5CopyNS] = suitetest.About(1e4 / gain(r.Params["file"]))
			}
		})
	}
	is := func(x float64) func(string) float64 { return func(string) float64 { return x } }
	expect(t, "as claimed", judge(t, &c, made(is(1.5))), Holds)
	expect(t, "alike", judge(t, &c, made(is(1))), DoesNotHold)
	expect(t, "buffered only", judge(t, &c, made(func(file string) float64 {
		if file == "direct" {
			return 1
		}
		return 1.5
	})), Depends)
	expect(t, "on the limit", judge(t, &c, made(is(420./285*(1-slack)))), CannotTell)
	m := made(is(1.5))
	m.each(func(_ *run.Result, v *run.VariantResult) {
		switch v.Name {
		case r5Old:
			v.Error = "Go 1.21, which is not on this machine"
		case r5New:
			v.Error = "Go 1.22, which is not on this machine"
		}
	})
	got := judge(t, &c, m)
	expect(t, "neither Go", got, CannotTest)
	if !strings.Contains(got.Why, "Go 1.21") || !strings.Contains(got.Why, "Go 1.22") || !strings.Contains(got.Measured, r5Present) {
		t.Errorf("not named: %s; %s", got.Why, got.Measured)
	}
}

// The program that the present Go builds copies what it should, and counts.
func TestR5ProgramCopies(t *testing.T) {
	e := r5("buffered")
	dir := t.TempDir()
	b, why := suitetest.RunOnce(t, &e, e.Variant(r5Present), dir, 1)
	if b == nil {
		t.Skip(why)
	}
	if ns := b.Metrics[r5CopyNS]; !(ns > 0 && ns < 1e9) {
		t.Errorf("a copy takes %v ns", ns)
	}
	wantSize(t, dir+"/data", r5Bytes)
}
