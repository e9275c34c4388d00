package claims

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL7(t *testing.T) {
	c := claimL7()
	// ratio is that of 100 series to one, by variant and ranges.
	of := func(ratio func(v, ranges string) run.Estimate, wrong float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e5 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics["query_p95_ns"], v.Metrics["heap_growth_share"], v.Metrics["wrong_share"] = suitetest.About(1e3), suitetest.About(0.01), suitetest.About(0)
			if r.Params["series"] == "100" {
				v.Metrics["query_p95_ns"] = scaled(ratio(v.Name, r.Params["ranges"]), 1e3)
			}
			if v.Name == l7Coded {
				v.Metrics["wrong_share"] = suitetest.About(wrong)
			}
		}))
	}
	is := func(x float64) func(string, string) run.Estimate {
		return func(string, string) run.Estimate { return suitetest.About(x) }
	}
	expect(t, "as claimed", of(is(4), 1), Holds)
	expect(t, "100 series for the price of 100", of(is(100), 1), DoesNotHold)
	expect(t, "with few ranges", of(func(_, ranges string) run.Estimate {
		if ranges == "10" {
			return suitetest.About(3)
		}
		return suitetest.About(50)
	}, 1), Depends)
	expect(t, "the wrong way only", of(func(v, _ string) run.Estimate {
		if v == l7Coded {
			return suitetest.About(1)
		}
		return suitetest.About(80)
	}, 1), DoesNotHold)
	expect(t, "on the limit", of(is(4.4), 0), CannotTell)
}

// The tree as meant finds what a scan finds. The tree as coded does not: it misses ranges
// that begin before the window.
func TestL7Ways(t *testing.T) {
	items := l7Items(&lab.B{Rand: rand.New(rand.NewPCG(1, 1))}, 50)
	scan, coded, meant := scanSeries(items), alongLeaves(items), searchTree(items)
	rng := rand.New(rand.NewPCG(2, 2))
	missed := 0
	for range 200 {
		first := rng.Uint32N(l7Series - 3)
		series := []uint32{first, first + 1, first + 2}
		from := rng.Int64N(49 * l7Span)
		want := scan(nil, series, from, from+l7Window)
		if len(want) < 3 {
			t.Fatalf("a scan finds %d ranges of 3 series", len(want))
		}
		if got := meant(nil, series, from, from+l7Window); !slices.Equal(got, want) {
			t.Fatalf("a search for each series finds %d ranges, want %d", len(got), len(want))
		}
		got := coded(nil, series, from, from+l7Window)
		for i, item := range got {
			if item.Stream < first || item.Stream > first+2 || i > 0 && item.Stream < got[i-1].Stream {
				t.Fatalf("the leaves are not in order: %+v", got)
			}
		}
		if !slices.Contains(got, want[0]) {
			missed++
		}
	}
	if missed < 100 {
		t.Errorf("the tree as coded misses the first range in %d of 200 lookups, want most", missed)
	}
}
