package claims

import (
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeC8(t *testing.T) {
	c := claimC8()
	of := func(synced, memory, passed float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, hundred).each(func(r *run.Result, v *run.VariantResult) {
			share := 0.0
			switch {
			case v.Name == c8Memory:
				share = memory
			case r.Name == "C8-synced" && v.Name == c8Unnamed:
				share = synced
			}
			v.Metrics[c8Written], v.Metrics[c8Passed] = suitetest.About(share), suitetest.About(passed)
			v.Metrics["unnamed_"+c8Written], v.Metrics["memory_"+c8Written] = suitetest.About(synced), suitetest.About(memory)
		}))
	}
	expect(t, "none ever, and not passed", of(0, 0, 0), Holds)
	expect(t, "passed", of(0, 0, 1), DoesNotHold)
	expect(t, "written back when synced or old", of(1, 0, 0), Depends)
	expect(t, "hardly any", of(0.005, 0.001, 0), Holds)
	expect(t, "memory is written too", of(0, 1, 0), DoesNotHold)
	uncounted := in("d", "ext4").all(&c, hundred).each(func(_ *run.Result, v *run.VariantResult) {
		v.Missing = map[string]run.Reason{}
		for _, m := range []string{c8Written, "unnamed_" + c8Written, "memory_" + c8Written, c8Passed} {
			v.Missing[m] = run.Reason{Code: run.ReasonText, Text: "an old kernel"}
		}
	})
	got := judge(t, &c, uncounted)
	expect(t, "not counted", got, CannotTest)
	if !strings.Contains(got.Why, "an old kernel") {
		t.Errorf("the reason is not named: %s", got.Why)
	}
}

// A file without a name is written back once it is old, and one in memory is not.
func TestAgedFiles(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("waits for the age of write-back; set STELE_LONG to run it")
	}
	e := c8Aged()
	b, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 1, 7)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("after %.0f s: %v, %v", b.Metrics["waited_seconds"], b.Metrics, b.Missing)
	if m, ok := b.Metrics["memory_"+c8Written]; ok && m > hardly {
		t.Errorf("%v of a file in memory was written back", m)
	}
}
