package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL6(t *testing.T) {
	c := claimL6(1)
	of := func(quicker, missesOfB float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e9 })
		m.place.Environment.Device = "/dev/sda"
		return judge(t, &c, m.sized(l6File).each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["read_mean_ns"], v.Metrics["hit_share"] = suitetest.About(14200), suitetest.Wide(0.92, 0.001)
			if v.Name == l6One || v.Name == l6Goroutines {
				v.Metrics["read_mean_ns"], v.Metrics["hit_share"] = suitetest.About(14200*quicker), suitetest.Wide(1-missesOfB, 0.001)
			}
		}))
	}
	expect(t, "as claimed", of(1.4, 0.15), Holds)
	expect(t, "no better", of(0.8, 0.08), DoesNotHold)
	expect(t, "quicker only", of(1.5, 0.08), DoesNotHold)
	expect(t, "on the limit", of(18.9/14.2*(1-slack), 0.15), CannotTell)
}

// If a child cannot read, the error says why, and no process waits for ever.
func TestL6ReportsAChildThatFails(t *testing.T) {
	e := l6(Small)
	v := lab.Variant{Name: l6Own, Run: func(b *lab.B) error {
		f, err := datafile.Open(b, "noise", Small.Of(l6File), datafile.Noise())
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = readL6InChildren(b, &e, l6Own, f, "/no/such/file")
		return err
	}}
	_, err := lab.RunOnce(t.Context(), &e, &v, t.TempDir(), 1, 7)
	if err == nil || !strings.Contains(err.Error(), "/no/such/file") {
		t.Errorf("got %v, want the error of the child", err)
	}
}
