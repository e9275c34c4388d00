package claims

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeC15(t *testing.T) {
	c := claimC15()
	of := func(times, tail, calls float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			variantTempHere: 500_000, variantMemFS: 500_000 / times,
		}))
		m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["syscalls_per_op"] = suitetest.About(8)
			if v.Name == variantMemFS {
				v.Metrics["syscalls_per_op"] = suitetest.About(calls)
			}
		}).tails(func(_ *run.Result, v *run.VariantResult) float64 {
			return 47_000_000 / map[string]float64{variantTempHere: 1, variantMemFS: tail}[v.Name]
		})
		return judge(t, &c, m)
	}
	expect(t, "as claimed", of(160, 160, 0), Holds)
	expect(t, "nothing", of(20, 20, 3), DoesNotHold)
	expect(t, "no call, less gain", of(20, 20, 0), Depends)
	expect(t, "the time, but not the p99", of(160, 20, 0), Depends)
	expect(t, "on the limit", of(47/0.3*0.9, 160, 0), CannotTell)

	m := in("d", "ext4").all(&c, byVariant(map[string]float64{variantTempHere: 500_000, variantMemFS: 1000}))
	got := judge(t, &c, m)
	expect(t, "calls not counted", got, CannotTest)
	if !strings.Contains(got.Why, "syscalls_per_op") {
		t.Errorf("not named: %s", got.Why)
	}
}

func TestMemFSKeepsWhatIsWritten(t *testing.T) {
	m := newMemFS()
	for i, text := range []string{"one", "two"} {
		f, err := m.CreateTemp()
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{text, text} {
			if _, err := f.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := m.ReadFile(string(rune('0' + i)))
		if err != nil || !bytes.Equal(got, []byte(text+text)) {
			t.Errorf("file %d holds %q, %v", i, got, err)
		}
	}
	if _, err := m.ReadFile("2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that was not made: %v", err)
	}
}
