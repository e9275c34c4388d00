package claims

import (
	"math"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeD5(t *testing.T) {
	c := claimD5()
	of := func(a, b func(n, d float64) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 100 })
		m.each(func(r *run.Result, v *run.VariantResult) {
			n, d := float64(suitetest.Int(t, r.Params["n"])), float64(suitetest.Int(t, r.Params["depth"]))
			v.Syscalls["newfstatat"] = a(n, d)
			v.Metrics["path_calls_per_op"] = suitetest.About(b(n, d))
		})
		return judge(t, &c, m)
	}
	linear := func(k float64) func(n, d float64) float64 {
		return func(n, d float64) float64 { return k * n * d }
	}
	square := func(n, d float64) float64 { return n * d * d }
	expect(t, "squares and fewer", of(square, linear(1)), Holds)
	expect(t, "squares and not fewer", of(square, linear(100)), DoesNotHold)
	expect(t, "linear", of(linear(2), linear(1)), DoesNotHold)
	expect(t, "between", of(func(n, d float64) float64 { return 20 * n * math.Pow(d, 1.6) }, linear(1)), Depends)
	expect(t, "no law", of(func(n, d float64) float64 {
		if n == 256 {
			return 100 * n * d
		}
		return n * d
	}, linear(1)), CannotTest)
}

// checkD5 checks that all prefixes were made, and that the sorted batch asked for each once.
func checkD5(t *testing.T, e *lab.Experiment, dir string, ops int64, b run.Block) {
	t.Helper()
	n, depth := suitetest.Int(t, e.Params["n"]), suitetest.Int(t, e.Params["depth"])
	distinct := int64(len(suitetest.Prefixes(sharedPaths(n, depth))))
	// A stat and a mkdir for each distinct prefix, and a stat that finds the root.
	if got := b.Metrics["path_calls_per_op"]; b.Variant == variantSorted && got != float64(2*distinct+1) {
		t.Errorf("%s: %v calls, want %d", e.ID(), got, 2*distinct+1)
	}
	if got := int64(len(suitetest.Tree(t, dir))) - 1; got != ops*(distinct+1) {
		t.Errorf("%s %s made %d directories, want %d", e.ID(), b.Variant, got, ops*(distinct+1))
	}
}
