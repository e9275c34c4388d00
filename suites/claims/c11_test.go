package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC11(t *testing.T) {
	c := claimC11()
	of := func(emfile, raised, hard float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			for name, x := range map[string]float64{
				"refused_with_emfile": emfile, "opened_at_soft_limit": 250, "opened_when_raised": raised,
				"hard_limit": hard, "file_max": 1 << 20,
			} {
				v.Metrics[name] = run.Estimate{Median: x, Lo: x, Hi: x, N: 6}
			}
		}))
	}
	expect(t, "as claimed", of(1, 1000, 1024), Holds)
	expect(t, "a high hard limit", of(1, 1000, 1<<20), Depends)
	expect(t, "none of the figures", of(0, 250, 1<<20), DoesNotHold)
}

// Only EMFILE counts as refused; any other error is returned.
func TestOpenUntilRefusedTellsOtherErrors(t *testing.T) {
	if _, refused, err := openUntilRefused(t.TempDir() + "/missing"); err == nil || refused {
		t.Errorf("a missing file: refused %v, %v", refused, err)
	}
}
