package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeH7(t *testing.T) {
	c := claimH7()
	of := func(each, commit float64) run.Claim {
		m := in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			switch v {
			case h7Buffered:
				return 100
			case h7Commit(1000):
				return commit
			}
			return each
		})
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) { v.Metrics[h7Lost] = suitetest.About(2) }))
	}
	expect(t, "as claimed", of(5000, 125), Holds)
	expect(t, "syncs cost nothing, commits much", of(120, 1000), DoesNotHold)
	expect(t, "commits cost much", of(5000, 1000), DoesNotHold)
	expect(t, "on the limit", of(100*125/3.2*(1-slack), 125), CannotTell)
	if got := of(5000, 125); !strings.Contains(got.Measured, "a commit every 1): 0.020x") || !strings.Contains(got.Measured, "not the same job") {
		t.Errorf("not mentioned: %s", got.Measured)
	}
}

// As coded records get lost; as meant none.
func TestH7CodedLosesRecords(t *testing.T) {
	e := h7()
	b, err := lab.RunOnce(t.Context(), &e, e.Variant(h7Coded), t.TempDir(), 500, 7)
	if err != nil {
		t.Fatal(err)
	}
	if lost := b.Metrics[h7Lost] * 500; lost < headerLen || lost > 500*headerLen {
		t.Errorf("%v bytes of 500 records are lost, want some", lost)
	}
}
