package claims

import (
	"math"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func TestStoreClaimsRun(t *testing.T) {
	wants := map[string][]string{"L7": {"query_p95_ns", "heap_per_item_bytes"}, "L9": {"query_mean_ns", "miss_share"}}
	for _, c := range []Claim{claimL7(), claimL9()} {
		t.Run(c.ID, func(t *testing.T) {
			runClaims(t, []Claim{c}, 300, func(t *testing.T, e *lab.Experiment, _ string, b run.Block) {
				for _, name := range wants[e.Name] {
					if x := b.Metrics[name]; !(x > 0) || math.IsInf(x, 0) {
						t.Errorf("%s of %s: %s is %v (%s)", e.ID(), b.Variant, name, x, b.Missing[name].Text)
					}
				}
				if wrong := b.Metrics["wrong_share"]; e.Name == "L7" && (b.Variant == l7Coded) != (wrong > 0) {
					t.Errorf("%s of %s: %v of the lookups are wrong", e.ID(), b.Variant, wrong)
				}
			})
		})
	}
}
