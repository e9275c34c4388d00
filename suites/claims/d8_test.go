package claims

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeD8(t *testing.T) {
	c := claimD8()
	of := func(mode func(perm int) int) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		m.each(func(r *run.Result, v *run.VariantResult) {
			var perm int
			if _, err := fmt.Sscanf(r.Params["perm"], "%o", &perm); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"mode_of_first_level", "mode_of_second_level"} {
				v.Metrics[name] = suitetest.About(float64(mode(perm)))
			}
			v.Metrics["mode_of_0777"] = suitetest.About(0o755)
		})
		return judge(t, &c, m)
	}
	expect(t, "always 0755", of(func(int) int { return 0o755 }), Holds)
	expect(t, "perm less umask", of(func(p int) int { return p &^ 0o022 }), DoesNotHold)
	expect(t, "something else", of(func(int) int { return 0o700 }), DoesNotHold)
}

func permOf(t *testing.T, e *lab.Experiment) int {
	t.Helper()
	n, err := strconv.ParseInt(e.Params["perm"], 8, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}
