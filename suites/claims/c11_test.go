package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC11(t *testing.T) {
	c := claimC11()
	made := func(emfile, raised, fileMax float64, refused map[string]float64) *made {
		return in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 }).each(func(_ *run.Result, v *run.VariantResult) {
			v.Missing = map[string]run.Reason{}
			for name, x := range map[string]float64{
				"refused_with_emfile": emfile, "opened_at_soft_limit": 250, "opened_when_raised": raised, "file_max": fileMax, "nr_open": 1 << 20,
			} {
				v.Metrics[name] = run.Estimate{Median: x, Lo: x, Hi: x, N: 6}
			}
			for _, name := range []string{c11AboveShare, c11AtNrOpen, c11AboveNrOpen} {
				if x, ok := refused[name]; ok {
					v.Metrics[name] = run.Estimate{Median: x, Lo: x, Hi: x, N: 6}
				} else {
					v.Missing[name] = run.Reason{Code: run.ReasonText, Text: "run as root"}
				}
			}
		})
	}
	tied := map[string]float64{c11AboveShare: 1, c11AtNrOpen: 1, c11AboveNrOpen: 1}
	free := map[string]float64{c11AboveShare: 0, c11AtNrOpen: 0, c11AboveNrOpen: 1}
	expect(t, "as claimed", judge(t, &c, made(1, 1000, 1<<21, tied)), Holds)
	expect(t, "above file-max/1024 is allowed", judge(t, &c, made(1, 1000, 1<<21, free)), DoesNotHold)
	expect(t, "no EMFILE", judge(t, &c, made(0, 1000, 1<<21, tied)), DoesNotHold)
	got := judge(t, &c, made(1, 1000, 1<<21, nil))
	expect(t, "not root", got, CannotTest)
	if !strings.Contains(strings.ToLower(got.Why), "run as root") {
		t.Errorf("not named: %s", got.Why)
	}
	got = judge(t, &c, made(1, 1000, 1<<62, tied))
	expect(t, "the rule cannot bind", got, CannotTest)
	if !strings.Contains(got.Why, "cannot bind") {
		t.Errorf("not named: %s", got.Why)
	}
}

// Only EMFILE counts as refused; any other error is returned.
func TestOpenUntilRefusedTellsOtherErrors(t *testing.T) {
	if _, refused, err := openUntilRefused(t.TempDir() + "/missing"); err == nil || refused {
		t.Errorf("a missing file: refused %v, %v", refused, err)
	}
}
