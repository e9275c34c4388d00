package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeC9(t *testing.T) {
	c := claimC9()
	latency := map[string]float64{nameRing(512): 18_300, nameRing(1024): 22_700, nameRing(2048): 41_900}
	of := func(gain, overflow float64, latencies bool) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			nameRing(512): 10_000, nameRing(1024): 10_000 / gain, nameRing(2048): 10_000 / gain,
		}))
		m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics[answerTime] = suitetest.About(10_000_000)
			if latencies {
				v.Metrics[answerTime] = suitetest.About(latency[v.Name])
			}
			v.Metrics[overflowShare] = suitetest.About(overflow)
			if v.Name == nameRing(512) {
				v.Metrics[overflowShare] = suitetest.About(0.0002)
			}
		})
		return judge(t, &c, m)
	}
	expect(t, "as claimed", of(1.16, 0, true), Holds)
	expect(t, "no gain", of(1, 0, true), Depends)
	expect(t, "overflow, which follows from who asks", of(1.16, 0.3, true), Holds)
	expect(t, "on the limit", of(248.9/215.6*0.9, 0, true), CannotTell)
}

// All figures of C9 can fail together.
func TestJudgeC9DoesNotHold(t *testing.T) {
	c := claimC9()
	m := in("d", "ext4").all(&c, byVariant(map[string]float64{
		nameRing(512): 10_000, nameRing(1024): 20_000, nameRing(2048): 10_000,
	}))
	m.each(func(_ *run.Result, v *run.VariantResult) {
		v.Metrics[answerTime], v.Metrics[overflowShare] = suitetest.About(1000), suitetest.About(0.3)
		if v.Name == nameRing(512) {
			v.Metrics[answerTime] = suitetest.About(9000)
		}
	})
	expect(t, "none of the figures", judge(t, &c, m), DoesNotHold)
}

// A flooded ring overflows, and still makes all files.
func TestRingCountsOverflow(t *testing.T) {
	b, err := lab.RunOnce(t.Context(), &lab.Experiment{Suite: "claims", Name: "C9-flood"}, &lab.Variant{
		Name: "small", Run: func(b *lab.B) error { return ring(b, 4, floodGoroutines, false) },
	}, t.TempDir(), 2000, 7)
	if err != nil {
		t.Fatal(err)
	}
	if b.Metrics[overflowShare] == 0 {
		t.Error("16 goroutines that do not wait never found a ring of 4 full")
	}
}
