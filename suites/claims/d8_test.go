package claims

import (
	"fmt"
	"os"
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

// checkD8 checks the mode of the last directory.
func checkD8(t *testing.T, e *lab.Experiment, dir string, _ int64, b run.Block) {
	t.Helper()
	perm, err := strconv.ParseInt(e.Params["perm"], 8, 32)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir + "/a/b/c")
	if err != nil {
		t.Fatal(err)
	}
	umask := 0o777 &^ int(b.Metrics["mode_of_0777"])
	if got := int(info.Mode().Perm()); got|umask != int(perm)|umask {
		t.Errorf("%s: the leaf has %04o", e.ID(), got)
	}
}
