package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeR3(t *testing.T) {
	c := claimR3()
	of := func(fewer func(variant string, collected bool) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			n := float64(suitetest.Int(t, r.Params["reads"]))
			v.Metrics[r3Made], v.Metrics[r3Reused] = suitetest.About(n), suitetest.About(0.9)
			if v.Name != r3Fresh {
				v.Metrics[r3Made] = suitetest.About(n / fewer(v.Name, r.Params["collections"] != "none"))
			}
		}))
	}
	expect(t, "as claimed", of(func(string, bool) float64 { return 13 }), Holds)
	expect(t, "none saved", of(func(string, bool) float64 { return 1 }), DoesNotHold)
	got := of(func(v string, _ bool) float64 {
		if v == r3Coded {
			return 0.9
		}
		return 500
	})
	expect(t, "as meant only", got, Depends)
	if !strings.Contains(got.Why, "no with as coded") {
		t.Errorf("the condition is not named: %s", got.Why)
	}
	expect(t, "on the limit", of(func(string, bool) float64 { return 492. / 41 * (1 - slack) }), CannotTell)
}

// As coded each read makes a buffer, whatever the pool has. As meant the pool's are used.
func TestR3CountsBuffers(t *testing.T) {
	e := r3(100, false)
	for name, want := range map[string]func(made float64) bool{
		r3Fresh: func(made float64) bool { return made == 100 },
		r3Coded: func(made float64) bool { return made >= 100 },
		r3Meant: func(made float64) bool { return made > 0 && made <= 100 },
	} {
		b, err := lab.RunOnce(t.Context(), &e, e.Variant(name), t.TempDir(), 3, 7)
		if err != nil {
			t.Fatal(err)
		}
		if made := b.Metrics[r3Made]; !want(made) {
			t.Errorf("%s made %v buffers in a round of 100", name, made)
		}
	}
}
