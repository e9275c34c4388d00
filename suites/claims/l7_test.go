package claims

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/logstore/timeindex"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL7(t *testing.T) {
	c := claimL7()
	// grown is the growth with a list of the found items.
	of := func(one, hundred, grown float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e6 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics["call_p95_ns"], v.Metrics["heap_growth_share"] = suitetest.About(one), suitetest.About(0.01)
			if r.Params["series"] == "100" {
				v.Metrics["call_p95_ns"] = suitetest.About(hundred)
			}
			if v.Name == l7Kept {
				v.Metrics["heap_growth_share"] = suitetest.About(grown)
			}
		}))
	}
	expect(t, "as claimed", of(0.8e6, 3.2e6, 0.02), Holds)
	expect(t, "much faster, and 100 series for 100 times the price", of(1e3, 1e5, 0.01), Depends)
	expect(t, "as fast, with garbage", of(0.8e6, 3.2e6, 0.9), Depends)
	expect(t, "on the limit", of(0.8e6*(1+slack), 3.2e6, 0.02), CannotTell)
	worse := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e6 })
	expect(t, "slow", judge(t, &c, worse.each(func(r *run.Result, v *run.VariantResult) {
		v.Metrics["call_p95_ns"], v.Metrics["heap_growth_share"] = suitetest.About(1e6), suitetest.About(0.9)
		if r.Params["series"] == "100" {
			v.Metrics["call_p95_ns"] = suitetest.About(1e7)
		}
	})), DoesNotHold)
}

// All ways of L7 find the same.
func TestL7WaysAgree(t *testing.T) {
	items := l7Items(&lab.B{Rand: rand.New(rand.NewPCG(1, 1))})
	ways := []func([]uint32, int64, int64) int{scanSeries(items), visitTree(items), keepFromTree(items)}
	rng := rand.New(rand.NewPCG(2, 2))
	for range 50 {
		series := []uint32{rng.Uint32N(l7Series), rng.Uint32N(l7Series)}
		from := rng.Int64N(l7Files * l7Span)
		want := 0
		for _, i := range items {
			if slices.Contains(series, i.Stream) && i.Min < from+l7Window && i.Max >= from {
				want++
			}
		}
		if series[0] == series[1] {
			want *= 2
		}
		for n, way := range ways {
			if got := way(series, from, from+l7Window); got != want {
				t.Fatalf("way %d finds %d files of %v from %d on, want %d", n, got, series, from, want)
			}
		}
	}
	if (timeindex.Item{}) == items[len(items)-1] {
		t.Error("the items are empty")
	}
}
