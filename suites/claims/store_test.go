package claims

import (
	"math"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestStoreClaimsRun(t *testing.T) {
	wants := []string{"queries_per_second", "call_mean_ns", "call_p95_ns", "query_mean_ns"}
	for _, c := range []Claim{claimL7(), claimL9(Small)} {
		t.Run(c.ID, func(t *testing.T) {
			runClaims(t, []Claim{c}, 40, func(t *testing.T, e *lab.Experiment, _ string, b run.Block) {
				for _, name := range wants {
					if x := b.Metrics[name]; !(x > 0) || math.IsInf(x, 0) {
						t.Errorf("%s of %s: %s is %v (%s)", e.ID(), b.Variant, name, x, b.Missing[name].Text)
					}
				}
				switch x := b.Metrics["miss_share"]; {
				case e.Name == "L9" && !(x > 0 && x < 1):
					t.Errorf("%s of %s misses %v", e.ID(), b.Variant, x)
				case e.Name == "L7" && b.Metrics["found_per_query"] < float64(suitetest.Int(t, e.Params["series"])):
					t.Errorf("%s of %s finds %v files a query", e.ID(), b.Variant, b.Metrics["found_per_query"])
				}
			})
		})
	}
}
