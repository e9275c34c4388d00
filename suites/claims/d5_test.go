package claims

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeD5(t *testing.T) {
	c := claimD5()
	made := func(exponent func(variant, sharing string) float64, coded, meant float64) *made {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 100 })
		return m.each(func(r *run.Result, v *run.VariantResult) {
			depth := float64(suitetest.Int(t, r.Params["depth"]))
			s := d5Size{64, int(depth), r.Params["shared"]}
			v.Metrics[d5Elements] = suitetest.About(100 * math.Pow(depth, exponent(v.Name, s.sharing)))
			looks := map[string]float64{variantSortedCoded: coded, variantSorted: meant}[v.Name]
			v.Metrics[d5Looks] = suitetest.About(looks * float64(len(distinctPrefixes(s.paths()))))
			v.Metrics[d5Calls] = suitetest.About(500)
			v.Syscalls["newfstatat"] = 500
		})
	}
	is := func(x float64) func(string, string) float64 { return func(string, string) float64 { return x } }
	expect(t, "squares, and one look-up", judge(t, &c, made(is(2), 1, 0)), Holds)
	expect(t, "linear", judge(t, &c, made(is(1.1), 1, 0)), DoesNotHold)
	expect(t, "two look-ups always", judge(t, &c, made(is(2), 2, 2)), DoesNotHold)
	expect(t, "two look-ups as coded", judge(t, &c, made(is(2), 2, 0)), Depends)
	expect(t, "linear where most is shared", judge(t, &c, made(func(v, sharing string) float64 {
		if v == variantAllOfEach && sharing == shareMost {
			return 1.1
		}
		return 1.9
	}, 1, 0)), Depends)
	other := made(is(2), 1, 0).each(func(_ *run.Result, v *run.VariantResult) { v.Syscalls["newfstatat"] = 900 })
	if got := judge(t, &c, other); !strings.Contains(got.Why, "the kernel counted 900 calls") {
		t.Errorf("other calls than supposed: %s: %s", got.Verdict, got.Why)
	}
}

// checkD5 checks that all prefixes were made, and what was counted.
func checkD5(t *testing.T, e *lab.Experiment, dir string, ops int64, b run.Block) {
	t.Helper()
	s := d5Size{suitetest.Int(t, e.Params["n"]), suitetest.Int(t, e.Params["depth"]), e.Params["shared"]}
	distinct := len(suitetest.Prefixes(s.paths()))
	want := map[string]int{variantSorted: distinct, variantEachLevel: s.n * s.depth}
	if n, ok := want[b.Variant]; ok && b.Metrics[d5Calls] != float64(n) {
		t.Errorf("%s %s: %v calls, want %d", e.ID(), b.Variant, b.Metrics[d5Calls], n)
	}
	if got, want := int64(len(suitetest.Tree(t, dir)))-1, ops*int64(distinct+1); got != want {
		t.Errorf("%s %s made %d directories, want %d", e.ID(), b.Variant, got, want)
	}
}

// A walk of a path has as many elements as the path; a mkdir of each level walks them again.
func TestWalkCounter(t *testing.T) {
	t.Chdir(t.TempDir())
	var c walkCounter
	if err := c.eachLevel([]string{"a/b/c", "a/b/d"}); err != nil {
		t.Fatal(err)
	}
	if c.mkdirs != 6 || c.elements != 12 || c.looks != 0 {
		t.Errorf("mkdir -p of two paths: %+v", c)
	}
	c = walkCounter{}
	if err := c.mkdirAll([]string{"x/y", "x/z"}); err != nil {
		t.Fatal(err)
	}
	// x/y: looks at x/y and x, makes both; x/z: looks at x/z and x, makes x/z.
	if c.looks != 4 || c.mkdirs != 3 || c.elements != 2+1+2+1+2+1+2 {
		t.Errorf("os.MkdirAll of two paths: %+v", c)
	}
	if _, err := os.Stat("x/z"); err != nil {
		t.Error(err)
	}
}
