package claims

import (
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeD8(t *testing.T) {
	c := claimD8()
	of := func(odd float64, mode func(perm, umask os.FileMode) os.FileMode) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, hundred).each(func(_ *run.Result, v *run.VariantResult) {
			for _, perm := range d8Perms {
				for _, umask := range d8Umasks {
					for level := 1; level <= 2; level++ {
						v.Metrics[modeMetric(level, perm, umask)] = suitetest.About(float64(mode(perm, umask)))
					}
				}
			}
			v.Metrics[d8OddModes], v.Metrics[d8RaceErrors] = suitetest.About(odd), suitetest.About(0)
		}))
	}
	expect(t, "always 0755 less the umask", of(0, func(_, umask os.FileMode) os.FileMode { return 0o755 &^ umask }), Holds)
	got := of(0, func(perm, umask os.FileMode) os.FileMode { return perm &^ umask })
	expect(t, "perm less umask", got, DoesNotHold)
	if !strings.Contains(got.Measured, "perm 0700, umask 0000: 0700") {
		t.Errorf("the modes are not named: %s", got.Measured)
	}
	expect(t, "0755 whatever the umask", of(0, func(os.FileMode, os.FileMode) os.FileMode { return 0o755 }), DoesNotHold)
	expect(t, "a default ACL", of(3, func(os.FileMode, os.FileMode) os.FileMode { return 0o770 }), CannotTest)
}

// checkD8 checks the modes that a block reports.
func checkD8(t *testing.T, e *lab.Experiment, _ string, _ int64, b run.Block) {
	t.Helper()
	if b.Metrics[d8OddModes] > 0 {
		t.Skip("the directory has a default ACL")
	}
	for _, perm := range d8Perms {
		for _, umask := range d8Umasks {
			leaf := os.FileMode(b.Metrics[modeMetric(3, perm, umask)])
			if leaf != perm&^umask {
				t.Errorf("%s %s: the leaf has %04o for %04o less %04o", e.ID(), b.Variant, leaf, perm, umask)
			}
			if between := os.FileMode(b.Metrics[modeMetric(2, perm, umask)]); b.Variant == variantExcerpt && between != 0o755&^umask {
				t.Errorf("the excerpt makes a parent with %04o, umask %04o", between, umask)
			}
		}
	}
}
