package claims

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// made is a set of made-up results in one place, to put before a rule.
type made struct {
	place   run.Place
	results []*run.Result
}

func in(name, fs string) *made {
	return &made{place: run.Place{Name: name, Environment: run.Environment{FS: fs, GOMAXPROCS: 2}}}
}

// all makes up results for every experiment of a claim: times by variant.
func (m *made) all(c *Claim, time func(e *lab.Experiment, v string) float64) *made {
	for i := range c.Experiments {
		e := &c.Experiments[i]
		r := &run.Result{ID: e.ID(), Name: e.Name, Params: e.Params, Place: m.place.Name}
		base := e.Variants[0].Name
		for _, v := range e.Variants {
			t := time(e, v.Name)
			r.Variants = append(r.Variants, run.VariantResult{
				Name: v.Name, Time: suitetest.About(t), Syscalls: map[string]float64{},
				Metrics: map[string]run.Estimate{"allocs_per_op": suitetest.About(3), "alloc_bytes_per_op": suitetest.About(128)},
				Latency: []run.Percentile{{P: 99, NS: 10 * t}},
			})
			if v.Name != base {
				r.Comparisons = append(r.Comparisons, run.Comparison{Variant: v.Name, Baseline: base, Ratio: suitetest.About(t / time(e, base))})
			}
		}
		m.results = append(m.results, r)
	}
	return m
}

func (m *made) each(f func(r *run.Result, v *run.VariantResult)) *made {
	for _, r := range m.results {
		for i := range r.Variants {
			f(r, &r.Variants[i])
		}
	}
	return m
}

// judge returns the only verdict.
func judge(t *testing.T, c *Claim, ms ...*made) run.Claim {
	t.Helper()
	var results []*run.Result
	var places []run.Place
	for _, m := range ms {
		results, places = append(results, m.results...), append(places, m.place)
	}
	got := c.Judge(results, places)
	if len(got) != 1 {
		t.Fatalf("%s: %d verdicts, want 1", c.ID, len(got))
	}
	if got[0].ID != c.ID || got[0].Promise == "" || got[0].Why == "" {
		t.Errorf("%s: incomplete: %+v", c.ID, got[0])
	}
	return got[0]
}

func expect(t *testing.T, what string, got run.Claim, verdict string) {
	t.Helper()
	if got.Verdict != verdict {
		t.Errorf("%s: %s %q, want %q\nmeasured: %s\nwhy: %s", what, got.ID, got.Verdict, verdict, got.Measured, got.Why)
	}
	if strings.Contains(got.Measured, "NaN") {
		t.Errorf("%s: %s shows NaN: %s", what, got.ID, got.Measured)
	}
}

// loopTimes makes B's speedup over A depend on the experiment.
func loopTimes(speedup func(e *lab.Experiment) float64) func(*lab.Experiment, string) float64 {
	return func(e *lab.Experiment, v string) float64 {
		if v == variantLoop {
			return 1900 / speedup(e)
		}
		return 1900
	}
}

func TestJudgeD1(t *testing.T) {
	c := claimD1()
	of := func(speedup func(e *lab.Experiment) float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, loopTimes(speedup)))
	}
	expect(t, "always 2x", of(func(*lab.Experiment) float64 { return 2 }), Holds)
	expect(t, "never", of(func(*lab.Experiment) float64 { return 1.2 }), DoesNotHold)
	expect(t, "slower", of(func(*lab.Experiment) float64 { return 0.3 }), DoesNotHold)
	expect(t, "new ones only", of(func(e *lab.Experiment) float64 {
		if e.Name == "D1-existing" {
			return 0.2
		}
		return 2
	}), Depends)
	expect(t, "on the limit", of(func(*lab.Experiment) float64 { return 1.71 }), CannotTest)

	// Depth 2 to 4 is shown to nobody's disadvantage: the claim is about 5 on.
	expect(t, "slow where nothing is claimed", of(func(e *lab.Experiment) float64 {
		if d := e.Params["depth"]; d == "2" || d == "3" || d == "4" {
			return 1
		}
		return 2
	}), Holds)
}

func TestJudgeNamesWhatIsMissing(t *testing.T) {
	c := claimD1()
	twice := loopTimes(func(*lab.Experiment) float64 { return 2 })

	m := in("d", "ext4").all(&c, twice)
	m.results = m.results[1:]
	got := judge(t, &c, m)
	expect(t, "a result less", got, CannotTest)
	if !strings.Contains(got.Why, "claims/D1-fresh") || len(got.Results) != len(c.Experiments)-1 {
		t.Errorf("not named: %s; results %q", got.Why, got.Results)
	}

	m = in("d", "ext4").all(&c, twice)
	m.results[0].Variants[1].Error = "no space left on device"
	got = judge(t, &c, m)
	expect(t, "a failed variant", got, CannotTest)
	if !strings.Contains(got.Why, "no space left") {
		t.Errorf("not named: %s", got.Why)
	}

	m = in("d", "ext4").all(&c, twice)
	for _, r := range m.results {
		r.Comparisons[0].Ratio.Lo, r.Comparisons[0].Ratio.Hi = math.NaN(), math.NaN()
	}
	expect(t, "too few blocks for an interval", judge(t, &c, m), CannotTest)
}

// With nothing measured no rule may give a verdict, or a figure.
func TestJudgeWithoutResults(t *testing.T) {
	for _, c := range Directories() {
		got := judge(t, &c, in("d", "ext4"))
		expect(t, "nothing", got, CannotTest)
		if strings.ContainsAny(got.Measured, "0123456789") && c.ID != "D3" {
			t.Errorf("%s shows figures of nothing: %s", c.ID, got.Measured)
		}
	}
}

func TestJudgeD2(t *testing.T) {
	c := claimD2()
	of := func(perLevel float64) run.Claim {
		m := in("d", "ext4").all(&c, loopTimes(func(*lab.Experiment) float64 { return 1 }))
		m.each(func(r *run.Result, v *run.VariantResult) {
			depth := 1
			if r.Params["depth"] != "" {
				depth = suitetest.Int(t, r.Params["depth"])
			}
			v.Syscalls["newfstatat"] = perLevel * float64(depth)
			v.Syscalls["mkdirat"] = float64(depth)
		})
		return judge(t, &c, m)
	}
	expect(t, "once a level", of(1), DoesNotHold)
	expect(t, "three times a level", of(3), Holds)
	expect(t, "now and then twice", of(1.3), Depends)

	uncounted := in("d", "ext4").all(&c, loopTimes(func(*lab.Experiment) float64 { return 1 }))
	uncounted.each(func(_ *run.Result, v *run.VariantResult) {
		v.Syscalls, v.Missing = nil, map[string]string{"syscalls": "needs root"}
	})
	got := judge(t, &c, uncounted)
	expect(t, "not counted", got, CannotTest)
	if !strings.Contains(got.Why, "needs root") {
		t.Errorf("the reason is not named: %s", got.Why)
	}
}

func TestJudgeD3(t *testing.T) {
	c := claimD3()
	at := func(name, fs string, create float64) *made {
		return in(name, fs).all(&c, func(_ *lab.Experiment, v string) float64 {
			if v == variantOpen {
				return 2000
			}
			return create
		})
	}
	xfs := at("x", "xfs", 5600)
	expect(t, "as claimed", judge(t, &c, at("e", "ext4", 8200), xfs), Holds)
	expect(t, "both alike", judge(t, &c, at("e", "ext4", 5600), xfs), DoesNotHold)
	expect(t, "on the limit", judge(t, &c, at("e", "ext4", 5600*8.2/5.6*0.75), xfs), CannotTest)
	got := judge(t, &c, at("e", "ext4", 8200), at("m", "tmpfs", 5600))
	expect(t, "ext4 only", got, CannotTest)
	if !strings.Contains(got.Why, "xfs") || !strings.Contains(got.Measured, "8200 ns") {
		t.Errorf("want what is missing and what there is: %s; %s", got.Why, got.Measured)
	}
}

func TestJudgeD4(t *testing.T) {
	c := claimD4()
	of := func(one, levels float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			return map[string]float64{variantFile4: 94, variantMkdir3: one, variantLevels3: levels}[v]
		}))
	}
	expect(t, "as claimed", of(127, 127), Holds)
	expect(t, "neither", of(94, 300), DoesNotHold)
	expect(t, "one reading", of(127, 300), Depends)
	expect(t, "on the limit", of(127*1.25, 127*1.25), CannotTest)
}

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

func TestFitGrowthFindsTheExponents(t *testing.T) {
	var points []point
	for _, n := range []float64{10, 100, 1000} {
		for _, d := range []float64{2, 4, 8} {
			points = append(points, point{n, d, 7 * n * math.Pow(d, 1.5)})
		}
	}
	g := fitGrowth(points)
	if math.Abs(g.n-1) > 1e-9 || math.Abs(g.d-1.5) > 1e-9 || g.residual > 1e-9 {
		t.Errorf("got %v with residual %g, want n^1 d^1.5 exactly", g, g.residual)
	}
}

func TestJudgeD6(t *testing.T) {
	c := claimD6()
	of := func(read, write, mixed float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			if v == variantRWMutex {
				return 100
			}
			return 100 / map[string]float64{"D6-read": read, "D6-write": write, "D6-mixed": mixed}[e.Name]
		}))
	}
	expect(t, "as claimed", of(2.5, 3, 3), Holds)
	expect(t, "alike", of(1, 1, 1), DoesNotHold)
	expect(t, "reads only", of(2.5, 0.5, 3), Depends)
	expect(t, "on the limit", of(96.7/42.1*0.9, 3, 3), CannotTest)
}

func TestJudgeD7(t *testing.T) {
	c := claimD7()
	// Throughput grows with the jobs up to a knee.
	at := func(fs string, knee map[string]float64, share float64) *made {
		m := in("d", fs).all(&c, func(e *lab.Experiment, v string) float64 {
			return 1e6 / math.Min(float64(suitetest.Int(t, e.Params["jobs"])), knee[v])
		})
		return m.each(func(_ *run.Result, v *run.VariantResult) { v.Time = suitetest.Wide(v.Time.Median, share) })
	}
	both := func(k float64) map[string]float64 {
		return map[string]float64{variantAIO: k, variantGoroutines: k}
	}
	expect(t, "ext4 as claimed", judge(t, &c, at("ext4", both(4), 0.01)), Holds)
	expect(t, "ext4 at 16", judge(t, &c, at("ext4", both(16), 0.01)), DoesNotHold)
	expect(t, "XFS at 16", judge(t, &c, at("xfs", both(16), 0.01)), Holds)
	expect(t, "never stops", judge(t, &c, at("xfs", both(64), 0.01)), DoesNotHold)
	expect(t, "one of two", judge(t, &c, at("ext4", map[string]float64{variantAIO: 4, variantGoroutines: 16}, 0.01)), Depends)
	expect(t, "wide intervals", judge(t, &c, at("ext4", both(4), 0.4)), CannotTest)
	expect(t, "tmpfs", judge(t, &c, at("tmpfs", both(4), 0.01)), CannotTest)

	// One verdict a place.
	ext4, xfs := at("ext4", both(4), 0.01), at("xfs", both(4), 0.01)
	ext4.place.Name, xfs.place.Name = "e", "x"
	for _, m := range []*made{ext4, xfs} {
		for _, r := range m.results {
			r.Place = m.place.Name
		}
	}
	got := c.Judge(append(ext4.results, xfs.results...), []run.Place{ext4.place, xfs.place})
	if len(got) != 2 || got[0].Verdict != Holds || got[0].Place != "e" || got[1].Verdict != DoesNotHold || got[1].Place != "x" {
		t.Errorf("two places: %+v", got)
	}
}

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

func TestJudgeD9(t *testing.T) {
	c := claimD9()
	of := func(bias func(ns int) run.Estimate) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		m.each(func(r *run.Result, v *run.VariantResult) {
			for _, way := range []string{subtractThree, subtractThousand, chainedReadings} {
				v.Metrics[way+"_error"] = suitetest.About(0)
				v.Metrics[way+"_spread"] = suitetest.About(0.1)
			}
			ns := suitetest.Int(t, r.Params["ns"])
			v.Metrics["truth_ns"] = suitetest.About(float64(ns))
			v.Metrics[subtractThree+"_error"] = bias(ns)
		})
		return judge(t, &c, m)
	}
	expect(t, "right", of(func(int) run.Estimate { return suitetest.About(0.02) }), Holds)
	expect(t, "wrong", of(func(int) run.Estimate { return suitetest.About(-0.3) }), DoesNotHold)
	got := of(func(ns int) run.Estimate { return suitetest.About(10 / float64(ns)) })
	expect(t, "right for long ones", got, Depends)
	if !strings.Contains(got.Why, "right for 300 ns, 1000 ns") {
		t.Errorf("want the lengths: %s", got.Why)
	}
	expect(t, "wide", of(func(int) run.Estimate { return suitetest.Wide(0.04, 0.5) }), CannotTest)
}

func TestEachClaimHasOneRule(t *testing.T) {
	for _, c := range allClaims() {
		if (c.verdict == nil) == (c.across == nil) {
			t.Errorf("claim %s needs exactly one rule", c.ID)
		}
	}
}
