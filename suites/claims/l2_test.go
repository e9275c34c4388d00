package claims

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL2(t *testing.T) {
	c := claimL2()
	of := func(handed, written float64, misses func(v string) (run.Estimate, bool)) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			l2Lock: 1200, l2Unbuffered: 1200,
			"L2-handed/" + l2Ring: 1200 / handed, "L2-written/" + l2Ring: 1200 / written,
		}))
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			if e, ok := misses(v.Name); ok {
				v.Metrics["cache_misses_per_op"] = e
				return
			}
			v.Missing = map[string]run.Reason{"cache_misses_per_op": {Code: run.ReasonText, Text: "this processor has no such counter"}}
		}))
	}
	uncounted := func(string) (run.Estimate, bool) { return noEstimate, false }
	counted := func(fewer float64) func(string) (run.Estimate, bool) {
		return func(v string) (run.Estimate, bool) {
			if v == l2Ring {
				return suitetest.About(8 / fewer), true
			}
			return suitetest.About(8), true
		}
	}
	expect(t, "as claimed", of(14, 14, counted(9)), Holds)
	got := of(14, 14, uncounted)
	expect(t, "as claimed, without a counter", got, Holds)
	if !strings.Contains(got.Why, "no such counter") {
		t.Errorf("the missing counter is not mentioned: %s; %s", got.Measured, got.Why)
	}
	expect(t, "no faster", of(2, 0.7, uncounted), DoesNotHold)
	expect(t, "handed over only", of(14, 0.7, uncounted), Depends)
	expect(t, "as fast, and as many misses", of(14, 14, counted(1)), DoesNotHold)
	expect(t, "on the limit", of(1200./86*(1-slack), 14, uncounted), CannotTell)
}

// Lines that several goroutines log through the ring are in the file, whole and once.
func TestRingSinkLosesNothing(t *testing.T) {
	e := l2(4, false)
	dir := t.TempDir()
	for _, name := range []string{l2Ring, l2Lock, l2Unbuffered} {
		if _, err := lab.RunOnce(t.Context(), &e, e.Variant(name), dir, 1000, 7); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil || !bytes.Equal(text, bytes.Repeat(headers.Head(l2Line), 1000)) {
			t.Errorf("%s: %d bytes are not 1,000 lines of 128 (%v)", name, len(text), err)
		}
	}
}
