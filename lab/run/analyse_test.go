package run

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stele-go/stele/durability"
)

var powerPrefix = Writes(durability.Power, durability.Prefix)

// exactRun has blocks without noise: each variant takes exactly its time.
func exactRun(rounds int, variants []VariantResult, ns map[string]float64) *Run {
	res := &Result{ID: "s/n", Suite: "s", Name: "n", Place: "here", Variants: variants}
	for round := 1; round <= rounds; round++ {
		for _, v := range variants {
			if ns[v.Name] > 0 {
				res.Blocks = append(res.Blocks, Block{Variant: v.Name, Role: RoleTimed, Round: round, Ops: 100, Batch: 1, Wall: Nanos(100 * ns[v.Name])})
			}
		}
	}
	return &Run{Schema: Schema, Seed: 1, Places: []Place{{Name: "here"}}, Results: []*Result{res}, Settings: Settings{Rounds: rounds, Tolerance: 0.05, Test: TestBootstrap}}
}

func named(p Promise, names ...string) []VariantResult {
	var vs []VariantResult
	for _, n := range names {
		vs = append(vs, VariantResult{Name: n, Promise: p})
	}
	return vs
}

func TestWithin(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0.90, 0.951, Faster},
		{0.90, 0.953, CannotTell}, // 1/1.05 is 0.9524
		{0.953, 1.049, Same},
		{1.051, 1.2, Slower},
		{1.049, 1.2, CannotTell},
		{0.8, 1.3, CannotTell},
		{nan, nan, CannotTell},
	} {
		if got := within(Estimate{Lo: c.lo, Hi: c.hi}, 0.05); got != c.want {
			t.Errorf("[%v, %v] is %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
}

func TestOnlyTimedBlocksAreData(t *testing.T) {
	r := exactRun(8, named(killPrefix, "a", "b"), map[string]float64{"a": 1000, "b": 500})
	res := r.Results[0]
	res.Blocks = append(res.Blocks,
		Block{Variant: "b", Role: RolePilot, Ops: 1, Wall: 1e9},
		Block{Variant: "b", Role: RoleCounted, Ops: 1, Wall: 1e9},
		Block{Variant: "b", Role: RoleWaits, Round: 1, Ops: 1, Wall: 1e9, Metrics: map[string]float64{"gc_count": 9}},
		Block{Variant: "b", Role: RoleTimed, Round: 9, Ops: 1, Wall: 1e9, Error: "disk full\ngoroutine 1"},
		Block{Variant: "b", Role: RoleTimed, Round: 10},
		Block{Variant: "a", Role: RoleTimed, Round: 11, Ops: 1, Wall: 700}, // no partner in b
	)
	r.Analyse()
	b := res.Variant("b")
	if b.Time.Median != 500 || b.Time.N != 8 || b.Time.Lo != 500 || b.Time.Hi != 500 {
		t.Errorf("b takes %+v", b.Time)
	}
	if c := res.Comparisons[0]; c.Ratio.N != 8 || c.Ratio.Median != 0.5 || c.Verdict != Faster || c.P != 2.0/256 || c.Test != "wilcoxon" {
		t.Errorf("the comparison is %+v", c)
	}
	if _, taken := b.Metrics["gc_count"]; taken || res.Rounds != 9 {
		t.Errorf("a watched block is in the metrics, or %d rounds are not 9", res.Rounds)
	}
	if want := []Warning{{Code: WarnFailed, N: 2, Of: 10, Text: "disk full"}}; !reflect.DeepEqual(b.Warnings, want) {
		t.Errorf("warnings: %+v, want %+v", b.Warnings, want)
	}
}

func TestBaselinesAndPromises(t *testing.T) {
	vs := append(named(killPrefix, "k1", "k2", "k3"), named(powerPrefix, "p1", "p2")...)
	vs[1].Baseline = true
	r := exactRun(8, vs, map[string]float64{"k1": 100, "k2": 200, "k3": 200, "p1": 9000, "p2": 3000})
	r.Analyse()
	res := r.Results[0]
	pairs := func() (got []string) {
		for _, c := range res.Comparisons {
			s := c.Variant + "/" + c.Baseline + " " + c.Verdict
			if c.Mixed {
				s += " mixed"
			}
			got = append(got, s)
		}
		return got
	}
	if got, want := pairs(), []string{"k1/k2 faster", "k3/k2 same", "p2/p1 faster"}; !reflect.DeepEqual(got, want) {
		t.Errorf("comparisons are %q, want %q", got, want)
	}
	want := []Refusal{{Promise: powerPrefix, Variants: []string{"p1", "p2"}, Baseline: "k2"}}
	if !reflect.DeepEqual(res.Refused, want) {
		t.Errorf("refused: %+v", res.Refused)
	}

	r.Settings.MixLevels = true
	r.Analyse()
	if got, want := pairs(), []string{"k1/k2 faster", "k3/k2 same", "p1/k2 slower mixed", "p2/p1 faster", "p2/k2 slower mixed"}; !reflect.DeepEqual(got, want) {
		t.Errorf("with mixed levels comparisons are %q, want %q", got, want)
	}
	if res.Refused != nil {
		t.Errorf("with mixed levels refused: %+v", res.Refused)
	}
}

func TestHolmSpansTheRun(t *testing.T) {
	r := exactRun(8, named(killPrefix, "a", "b", "c"), map[string]float64{"a": 100, "b": 50, "c": 200})
	other := exactRun(8, named(killPrefix, "a", "b"), map[string]float64{"a": 100, "b": 30})
	other.Results[0].ID = "s/other"
	r.Results = append(r.Results, other.Results[0])
	r.Analyse()
	for _, res := range r.Results {
		for _, c := range res.Comparisons {
			if want := 3 * 2.0 / 256; c.PHolm != want {
				t.Errorf("%s: PHolm is %v, want %v", c.Variant, c.PHolm, want)
			}
		}
	}
}

// Where so few rounds cannot give a small p, whatever the data, that is told.
func TestLeastPHolm(t *testing.T) {
	r := exactRun(6, named(killPrefix, "a", "b", "c"), map[string]float64{"a": 100, "b": 50, "c": 101})
	r.Analyse()
	for _, c := range r.Results[0].Comparisons {
		// Two comparisons of six rounds: 2 * 2/2^6.
		if c.LeastPHolm == nil || *c.LeastPHolm != 2*2.0/64 || c.PHolm < *c.LeastPHolm {
			t.Errorf("%s: the least is %v, PHolm %v", c.Variant, c.LeastPHolm, c.PHolm)
		}
	}
	r.Settings.Test = TestMannWhitney
	r.Analyse()
	if p := r.Results[0].Comparisons[0].LeastPHolm; p == nil || *p < 2*2.0/924*0.999 || *p > 0.05 { // 12 over 6
		t.Errorf("Mann-Whitney: the least is %v", p)
	}
	r.Settings.Test = TestWelch
	r.Analyse()
	if p := r.Results[0].Comparisons[0].LeastPHolm; p != nil {
		t.Errorf("Welch's test has no least p, got %v", *p)
	}
}

// Each promise's comparisons rest on the noise of its own baseline.
func TestNoiseOfEachPromise(t *testing.T) {
	vs := append(named(killPrefix, "k1", "k2"), named(powerPrefix, "p1", "p2")...)
	r := exactRun(8, vs, map[string]float64{"k1": 100, "k2": 50, "p1": 9000, "p2": 3000})
	res := r.Results[0]
	for round := 1; round <= 8; round++ {
		res.Blocks = append(res.Blocks,
			Block{Variant: "k1", Role: RoleCalibration, Round: round, Ops: 1, Wall: 110},
			Block{Variant: "p1", Role: RoleCalibration, Round: round, Ops: 1, Wall: 12600})
	}
	r.Settings.MixLevels = true
	r.Analyse()
	if res.Noise == nil || res.Noise.Variant != "k1" || len(res.MoreNoise) != 1 || res.MoreNoise[0].Variant != "p1" {
		t.Fatalf("noise: %+v and %+v", res.Noise, res.MoreNoise)
	}
	near := func(x, want float64) bool { return math.Abs(x-want) < 1e-9 }
	for _, c := range res.Comparisons {
		want := 0.1
		if c.Variant != "k2" { // within p, or across: the larger of the two
			want = 0.4
		}
		if !near(c.Tolerance, want) {
			t.Errorf("%s to %s: the tolerance is %v, want %v", c.Variant, c.Baseline, c.Tolerance, want)
		}
	}
}

// With another test than the default a difference that the interval shows
// needs the test's consent.
func TestOtherTestMustAgree(t *testing.T) {
	// A drift of 1000 % over the rounds: paired, b is 20 % slower in each;
	// unpaired, nothing is to be seen.
	r := exactRun(10, named(killPrefix, "a", "b"), map[string]float64{"a": 1000, "b": 1200})
	for i := range r.Results[0].Blocks {
		b := &r.Results[0].Blocks[i]
		b.Wall *= Nanos(b.Round)
	}
	for test, want := range map[string]string{TestBootstrap: Slower, TestWelch: CannotTell, TestMannWhitney: CannotTell} {
		r.Settings.Test = test
		r.Analyse()
		c := r.Results[0].Comparisons[0]
		if c.Verdict != want || c.Ratio.Lo < 1.19 {
			t.Errorf("%s: %+v", test, c)
		}
		if want == CannotTell && (c.Test != test || c.PHolm < 0.05) {
			t.Errorf("%s: %+v", test, c)
		}
		unclear := r.Results[0].Findings[0].Unclear
		if got := len(unclear) == 1 && unclear[0].Why == UnclearUnproven; got != (want == CannotTell) {
			t.Errorf("%s: the finding gives the wrong reason: %+v", test, r.Results[0].Findings)
		}
	}
}

// Analyse takes nothing from what it derived before, and a Run read from a
// file gives the same as the one that was written.
func TestAnalyseIsIdempotent(t *testing.T) {
	r := recorded(3, 12, 1.3)
	r.Analyse()
	var once, again, reread bytes.Buffer
	if err := r.Write(&once); err != nil {
		t.Fatal(err)
	}
	r.Settings.Test, r.Settings.Tolerance = TestWelch, 0.5
	r.Analyse()
	r.Settings.Test, r.Settings.Tolerance = TestBootstrap, 0.05
	r.Analyse()
	if err := r.Write(&again); err != nil {
		t.Fatal(err)
	}
	if once.String() != again.String() {
		t.Error("analysed again, a run comes out different")
	}
	back, err := Read(&again)
	if err != nil {
		t.Fatal(err)
	}
	back.Analyse()
	if err := back.Write(&reread); err != nil {
		t.Fatal(err)
	}
	if once.String() != reread.String() {
		t.Error("read back and analysed, a run comes out different")
	}
}

func TestVariantFigures(t *testing.T) {
	r := exactRun(20, named(killPrefix, "a"), map[string]float64{"a": 800})
	res := r.Results[0]
	for i := range res.Blocks {
		b := &res.Blocks[i]
		b.Batch = 12
		b.Latency = NewHistogram()
		for k := range int64(20) {
			b.Latency.Record(700 + 10*k)
		}
		b.Metrics = map[string]float64{"allocs_per_op": float64(i)}
		b.Missing = map[string]Reason{"cache_misses_per_op": {Code: ReasonNoProcess}, "run_delay_ns": {Code: ReasonText, Text: "odd"}}
		if i == 4 {
			b.Latency.Record(-5)
			b.Wall *= 3
		} else {
			b.Metrics["run_delay_ns"] = 5
			delete(b.Missing, "run_delay_ns")
		}
	}
	res.Blocks = append(res.Blocks, Block{Variant: "a", Role: RoleCounted, Ops: 50, Syscalls: map[string]int64{"mkdirat": 350, "fstat": 25}})
	r.Analyse()
	v := res.Variants[0]
	if v.Batch != 12 {
		t.Errorf("batch %d", v.Batch)
	}
	if m := v.Metrics["allocs_per_op"]; m.Median != 9.5 || m.N != 20 || math.IsNaN(m.Lo) {
		t.Errorf("allocs_per_op is %+v", m)
	}
	if m := v.Metrics["run_delay_ns"]; m.N != 19 {
		t.Errorf("run_delay_ns is %+v", m)
	}
	if got := v.Missing; len(got) != 1 || got["cache_misses_per_op"] != (Reason{Code: ReasonNoProcess}) {
		t.Errorf("missing: %v", got)
	}
	if v.Syscalls["mkdirat"] != 7 || v.Syscalls["fstat"] != 0.5 || v.Metrics["syscalls_per_op"].Median != 7.5 {
		t.Errorf("system calls %v, %v", v.Syscalls, v.Metrics["syscalls_per_op"])
	}
	if !reflect.DeepEqual(v.Outliers, []int{5}) {
		t.Errorf("outliers in rounds %v, want round 5", v.Outliers)
	}
	for i, p := range v.Latency {
		refused := p.P == 99.9 // 400 samples are enough for p99, which needs 299
		if p.P != percentiles[i] || (p.Err() != nil) != refused || (p.NS == 0) != refused {
			t.Errorf("percentile %+v", p)
		}
	}
	for _, want := range []Warning{{Code: WarnOutliers, Rounds: []int{5}}, {Code: WarnBatched, N: 12}, {Code: WarnOutOfRange, N: 1}} {
		if !slices.ContainsFunc(v.Warnings, func(w Warning) bool { return reflect.DeepEqual(w, want) }) {
			t.Errorf("no warning %+v in %+v", want, v.Warnings)
		}
	}
}

// Parallel goroutines have a throughput, with the interval of the time.
func TestOperationsPerSecond(t *testing.T) {
	r := exactRun(8, named(killPrefix, "a", "none"), map[string]float64{"a": 800})
	for i := range r.Results[0].Blocks {
		r.Results[0].Blocks[i].Parallel = 16
		r.Results[0].Blocks[i].Wall += Nanos(100 * i)
	}
	r.Analyse()
	v := r.Results[0].Variants[0]
	if v.Parallel != 16 || v.OpsPerSecond.Median != 1e9/v.Time.Median || v.OpsPerSecond.Lo != 1e9/v.Time.Hi || v.OpsPerSecond.Hi != 1e9/v.Time.Lo || v.OpsPerSecond.N != 8 {
		t.Errorf("%+v of %+v, %d parallel", v.OpsPerSecond, v.Time, v.Parallel)
	}
	if none := r.Results[0].Variants[1]; none.Parallel != 0 || none.OpsPerSecond != (Estimate{}) {
		t.Errorf("without data: %+v", none.OpsPerSecond)
	}
}

// No call at all is a finding; no counting is not, and neither becomes the
// other on the way through a file.
func TestNoSystemCallsIsNotUncounted(t *testing.T) {
	r := exactRun(6, named(killPrefix, "zero", "unable", "never", "broken"), map[string]float64{"zero": 50, "unable": 50, "never": 50, "broken": 50})
	res := r.Results[0]
	res.Blocks = append(res.Blocks,
		Block{Variant: "zero", Role: RoleCounted, Ops: 10, Syscalls: map[string]int64{}},
		Block{Variant: "unable", Role: RoleCounted, Ops: 10, Missing: map[string]Reason{"syscalls": {Code: ReasonText, Text: "not root"}}},
		Block{Variant: "broken", Role: RoleCounted, Error: "killed"})
	var buf bytes.Buffer
	if err := r.Write(&buf); err != nil {
		t.Fatal(err)
	}
	r, err := Read(&buf)
	if err != nil {
		t.Fatal(err)
	}
	r.Analyse()
	res = r.Results[0]
	if v := res.Variant("zero"); v.Syscalls == nil || len(v.Missing) != 0 || v.Metrics["syscalls_per_op"].Median != 0 || v.Metrics["syscalls_per_op"].N != 1 {
		t.Errorf("zero: %+v", v)
	}
	for name, want := range map[string]Reason{"unable": {Code: ReasonText, Text: "not root"}, "never": {Code: ReasonNotCounted}, "broken": {Code: ReasonCountFailed, Text: "killed"}} {
		v := res.Variant(name)
		if _, ok := v.Metrics["syscalls_per_op"]; ok || v.Syscalls != nil || v.Missing["syscalls"] != want || v.Missing["syscalls_per_op"] != want {
			t.Errorf("%s: %v, %v", name, v.Syscalls, v.Missing)
		}
	}
}

func TestSteadyAndTrend(t *testing.T) {
	r := exactRun(10, named(killPrefix, "a"), map[string]float64{"a": 1000})
	for i := range r.Results[0].Blocks {
		r.Results[0].Blocks[i].Wall += Nanos(20_000 * i)
	}
	r.Analyse()
	v := r.Results[0].Variants[0]
	if v.Steady.Reached || v.Steady.Trend != "rising" || v.Steady.TrendP > 1e-5 || v.Steady.First != 6 || v.Steady.Last != 10 || math.Abs(v.Steady.Rise-1.64) > 0.01 {
		t.Errorf("steady: %+v", v.Steady)
	}
	if !hasWarning(&v, WarnTrend) || !hasWarning(&v, WarnUnsteady) {
		t.Errorf("warnings: %+v", v.Warnings)
	}
}

func TestPartialData(t *testing.T) {
	vs := named(killPrefix, "a", "b", "c")
	vs[2].Error = "c: no space left"
	r := exactRun(3, vs, map[string]float64{"a": 100, "b": 50})
	r.Analyse()
	res := r.Results[0]
	for _, c := range res.Comparisons {
		if c.Verdict != CannotTell {
			t.Errorf("from 3 rounds: %+v", c)
		}
	}
	if f := res.Findings; len(f) != 1 || f[0].Kind != FoundUnclear || len(f[0].Unclear) != 1 || f[0].Unclear[0].Why != UnclearFew || math.Abs(f[0].Visible-0.05) > 1e-9 || f[0].RoundsNeeded != 6 {
		t.Errorf("findings: %+v", f)
	}
	if w, want := res.Variant("b").Warnings, (Warning{Code: WarnFewBlocks, N: 3, Of: 6}); !reflect.DeepEqual(w, []Warning{want}) {
		t.Errorf("warnings: %+v", w)
	}
	if !hasWarning(res.Variant("c"), WarnNotTimed) {
		t.Errorf("warnings: %+v", res.Variant("c").Warnings)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	empty := &Run{Results: []*Result{{ID: "s/n"}}}
	empty.Analyse()
	if got := empty.Results[0].Findings; len(got) != 0 {
		t.Errorf("found in nothing: %+v", got)
	}
}

func TestFailedVariantIsNotRecommended(t *testing.T) {
	vs := named(killPrefix, "a", "b")
	vs[1].Error = "b: failed in round 9"
	r := exactRun(8, vs, map[string]float64{"a": 100, "b": 50})
	r.Analyse()
	res := r.Results[0]
	if res.Comparisons[0].Verdict != CannotTell || len(res.Findings) != 1 || res.Findings[0].Kind != FoundAlone {
		t.Errorf("%+v\n%+v", res.Comparisons[0], res.Findings)
	}
}

func hasWarning(v *VariantResult, code string) bool {
	return slices.ContainsFunc(v.Warnings, func(w Warning) bool { return w.Code == code })
}
