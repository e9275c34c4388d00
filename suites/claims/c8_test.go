package claims

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/measure/pagecache"
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
			v.Metrics[c8Written], v.Metrics[c8Passed], v.Metrics[c8Swap] = suitetest.About(share), suitetest.About(passed), suitetest.About(1<<30)
			v.Metrics["unnamed_"+c8Written], v.Metrics["memory_"+c8Written] = suitetest.About(synced), suitetest.About(memory)
		}))
	}
	expect(t, "none ever, and not passed", of(0, 0, 0), Holds)
	expect(t, "passed", of(0, 0, 1), DoesNotHold)
	expect(t, "written back when synced or old", of(1, 0, 0), Depends)
	expect(t, "hardly any", of(0.005, 0.001, 0), Holds)
	swapped := of(0, 1, 0)
	expect(t, "memory is written too", swapped, DoesNotHold)
	if !strings.Contains(swapped.Why, "swap on") {
		t.Errorf("swap is not named: %s", swapped.Why)
	}
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

// What was dirty has been written after a sync. A file in memory is never dirty, and in swap
// only where the machine swaps.
func TestWrittenBack(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // of no use after the test
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	dirty, err := pagecache.Dirty(f)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if back, err := writtenBack(f, dirty); err != nil || back != dirty {
		t.Errorf("%d bytes of %d dirty ones were written by a sync, %v", back, dirty, err)
	}
	if back, err := writtenBack(f, 0); err != nil || back < 0 {
		t.Errorf("%d bytes of none were written, %v", back, err)
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
