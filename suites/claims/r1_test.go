package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
)

func TestJudgeR1(t *testing.T) {
	c := claimR1(1)
	of := func(coded, meant, warm, cold, size float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			r1Whole: 5e6, r1Coded: 5e6 / coded, r1Bufio: 5e6 / meant, r1Large: 5e6 / meant,
		}))
		for _, r := range m.results[1:] {
			faster := warm
			if r.Params["pages"] == datafile.Cold {
				faster = cold
			}
			for i := range r.Variants {
				r.Variants[i].Time = scaled(m.results[0].Variants[1].Time, 1/faster)
			}
		}
		return judge(t, &c, m.sized(size))
	}
	expect(t, "as claimed", of(4.3, 4.3, 2, 2, r1Mapping), Holds)
	expect(t, "all alike", of(1, 1, 1, 1, r1Mapping), DoesNotHold)
	expect(t, "a mapping that is slower whether warm or cold", of(4.3, 4.3, 0.5, 0.1, r1Mapping), DoesNotHold)
	got := of(4.3, 4.3, 2, 0.1, r1Mapping)
	expect(t, "cold pages", got, Depends)
	if !strings.Contains(got.Why, "no with cold") || strings.Contains(got.Why, "not the published") {
		t.Errorf("the condition is not named, or the file is called smaller: %s", got.Why)
	}
	expect(t, "as meant only", of(1, 4.3, 2, 2, r1Mapping), Depends)
	// C is 1.6 times as fast as B as meant, which is twice as fast as B as coded.
	got = of(4.3, 8.6, 1.6, 1.6, r1Mapping)
	expect(t, "more than B in either form", got, Holds)
	got = of(8.6, 4.3, 1.6, 1.6, r1Mapping)
	expect(t, "no more than B as coded", got, Depends)
	if !strings.Contains(got.Why, "no with warm, B as coded") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	expect(t, "on the limit", of(850./200*(1-slack), 5, 2, 2, r1Mapping), CannotTell)
	if got := of(4.3, 4.3, 2, 2, 1<<28); !strings.Contains(got.Why, "268 MB, not the published 1.07 GB") {
		t.Errorf("a smaller file is not mentioned: %s", got.Why)
	}

	m := in("d", "tmpfs").all(&c, byVariant(map[string]float64{r1Whole: 5e6, r1Coded: 1e6, r1Bufio: 1e6, r1Large: 1e6, r1Copied: 1e5}))
	m.sized(r1Mapping)
	for i := range m.results[2].Variants {
		m.results[2].Variants[i].Error = "tmpfs keeps its files in the page cache"
	}
	got = judge(t, &c, m)
	expect(t, "nothing can be cold", got, Holds)
	if !strings.Contains(got.Why, "tmpfs keeps") {
		t.Errorf("what was not tested is not named: %s", got.Why)
	}
}
