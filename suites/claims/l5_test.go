package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL5(t *testing.T) {
	c := claimL5(1)
	of := func(warm, sparse float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			gain := map[string]float64{l5Map: warm, l5Sparse: sparse}[v.Name]
			if gain == 0 {
				gain = 1
			}
			v.Metrics["read_p50_ns"], v.Metrics["read_p99_ns"] = suitetest.About(42700/gain), suitetest.About(218500/gain)
		}))
	}
	expect(t, "as claimed", of(3.5, 3.5), Holds)
	expect(t, "alike", of(1, 1.2), DoesNotHold)
	expect(t, "a byte a page only", of(1, 4), Depends)
	expect(t, "median only", of(2.5, 2.5), DoesNotHold)
	expect(t, "on the limit", of(218.5/64.1*(1-slack), 3.5), CannotTell)
}

func TestSumsLookAtEverything(t *testing.T) {
	page := make([]byte, 2*datafile.PageSize)
	for i := range page {
		page[i] = 1
	}
	if got := datafile.SumWords(page[:800]); got != 0x6464646464646464 { // a hundred words
		t.Errorf("sumWords: %#x", got)
	}
	if got := sumPages(page); got != 2 {
		t.Errorf("sumPages: %d, want 2", got)
	}
	if got := firstWord(page); got != 0x01010101 {
		t.Errorf("firstWord: %#x", got)
	}
}
