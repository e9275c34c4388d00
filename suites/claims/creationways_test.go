package claims

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// Each variant does its job, with few operations, and reports its figures.
func TestCreationWayClaimsRun(t *testing.T) {
	limit, _, limitErr := sys.FileLimits()
	claims := creationWayClaims()
	for i := range claims { // C8-aged waits for half a minute: see TestAgedFiles
		claims[i].Experiments = slices.DeleteFunc(claims[i].Experiments, func(e lab.Experiment) bool { return e.Name == "C8-aged" })
	}
	runClaims(t, claims, 3, func(t *testing.T, e *lab.Experiment, dir string, b run.Block) {
		positive := map[string][]string{
			"C6":       {c6Mean, c6Tail},
			"C7-paced": {c7Latency},
			"C11":      {"opened_at_soft_limit", "opened_when_raised"},
			"C12":      {"start_ns"},
		}
		for _, name := range positive[e.Name] {
			if x := b.Metrics[name]; !(x > 0) || math.IsInf(x, 0) {
				t.Errorf("%s: %s is %v", b.Variant, name, x)
			}
		}
		switch e.Name {
		case "C8-short", "C8-synced":
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s left %v (%v)", b.Variant, left, err)
			}
		case "C11":
			// A collection may close files that earlier tests left to it, between
			// the two counts.
			for try := 0; ; try++ {
				soft, raised := b.Metrics["opened_at_soft_limit"], b.Metrics["opened_when_raised"]
				if b.Metrics["refused_with_emfile"] == 1 && soft < c11Soft && raised-soft == c11Raised-c11Soft {
					break
				}
				if try == 5 {
					t.Errorf("opened %v and %v, refused %v", soft, raised, b.Metrics["refused_with_emfile"])
					break
				}
				var err error
				if b, err = lab.RunOnce(t.Context(), e, e.Variant(c11Variant), dir, 1, 7); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	if limitErr == nil {
		if now, _, err := sys.FileLimits(); err != nil || now != limit {
			t.Errorf("the limit on descriptors is %d, was %d (%v)", now, limit, err)
		}
	}
	if left, err := os.ReadDir(c14Memory); err == nil {
		for _, e := range left {
			if strings.HasPrefix(e.Name(), "stele-c14-") {
				t.Errorf("%s was left in %s", e.Name(), c14Memory)
			}
		}
	}
}
