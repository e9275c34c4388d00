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
	made := func(sooner, calls float64) *made {
		return temps(&c, nil, map[string]float64{variantMemFS: sooner}).each(func(_ *run.Result, v *run.VariantResult) {
			if v.Name == variantMemFS {
				v.Metrics["syscalls_per_op"] = suitetest.About(calls)
			}
		})
	}
	of := func(sooner, calls float64) run.Claim { return judge(t, &c, made(sooner, calls)) }
	expect(t, "as claimed", of(160, 0), Holds)
	expect(t, "nothing", of(20, 3), DoesNotHold)
	expect(t, "no call, less gain", of(20, 0), DoesNotHold)
	expect(t, "a call", of(160, 1), DoesNotHold)
	expect(t, "on the limit", of(47/0.3*0.9, 0), CannotTell)

	got := judge(t, &c, made(160, 0).each(func(_ *run.Result, v *run.VariantResult) { delete(v.Metrics, "syscalls_per_op") }))
	expect(t, "calls not counted", got, Holds)
	if !strings.Contains(got.Why, "counted system calls") {
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
