package run

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/stats"
)

// compareTwo compares two runs absolutely, unless the options have a say in that.
func compareTwo(old, new *Run, o CompareOptions) *CompareReport {
	o.Absolute = true
	return Compare([]*Run{old}, []*Run{new}, o)
}

func outcome(t *testing.T, c *CompareReport, want Outcome, code int) {
	t.Helper()
	if c.Outcome != want || c.Outcome.ExitCode() != code {
		t.Errorf("outcome %q, code %d, want %q, %d: %+v", c.Outcome, c.Outcome.ExitCode(), want, code, c)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}

func TestCompareTime(t *testing.T) {
	old := exactRun(8, named(killPrefix, "a", "b"), map[string]float64{"a": 100, "b": 100})
	for _, c := range []struct {
		ns   float64
		want Outcome
		code int
	}{
		{100, Pass, 0}, {50, Pass, 0}, {104, Pass, 0}, {106, Regression, 1},
	} {
		got := compareTwo(old, exactRun(8, named(killPrefix, "a", "b"), map[string]float64{"a": 100, "b": c.ns}), CompareOptions{})
		outcome(t, got, c.want, c.code)
		row := got.Rows[1]
		if len(got.Rows) != 2 || row.Variant != "b" || row.Metric != "time" || row.Unit != "ns" || row.Better != -1 || row.Tolerance != 0.05 {
			t.Errorf("the row is %+v", row)
		}
		if row.Old.Median != 100 || row.New.Median != c.ns || row.Ratio.Median != c.ns/100 || row.Why == "" {
			t.Errorf("%v: the row is %+v", c.ns, row)
		}
		if got.Rows[0].Outcome != Pass {
			t.Errorf("the row of a is %+v", got.Rows[0])
		}
	}
}

func TestGate(t *testing.T) {
	for _, c := range []struct {
		lo, hi    float64
		better    int
		tolerance float64
		want      Outcome
	}{
		{0.98, 1.02, -1, 0.05, Pass},
		{0.5, 1.04, -1, 0.05, Pass}, // better by how much does not matter
		{0.5, 1.06, -1, 0.05, Inconclusive},
		{1.06, 1.2, -1, 0.05, Regression},
		{0.5, 0.9, +1, 0.05, Regression},
		{0.9, 1.2, +1, 0.05, Inconclusive},
		{0.96, 9, +1, 0.05, Pass},
		{0.5, 0.9, 0, 0.05, Regression},
		{1.1, 1.2, 0, 0.05, Regression},
		{0.96, 1.04, 0, 0.05, Pass},
		{1, 1, -1, 0, Pass},
		{1, 1.0001, -1, 0, Inconclusive},
		{1.0001, 1.0001, -1, 0, Regression},
		{math.Inf(1), math.Inf(1), -1, 0.05, Regression},
		{1, math.Inf(1), -1, 0.05, Inconclusive},
		{math.Inf(1), math.Inf(1), +1, 0.05, Pass},
	} {
		if got, why := gate(stats.Estimate{Lo: c.lo, Hi: c.hi}, c.better, c.tolerance); got != c.want || why == "" {
			t.Errorf("[%v, %v] better %d tolerance %v is %q (%s), want %q", c.lo, c.hi, c.better, c.tolerance, got, why, c.want)
		}
	}
}

// metricRun is a run of one variant whose blocks carry a metric.
func metricRun(name string, values ...float64) *Run {
	r := exactRun(len(values), named(killPrefix, "a"), map[string]float64{"a": 100})
	for i := range r.Results[0].Blocks {
		r.Results[0].Blocks[i].Metrics = map[string]float64{name: values[i]}
	}
	return r
}

func TestCompareMetrics(t *testing.T) {
	zeros, three, threeish, four := []float64{0, 0, 0, 0, 0, 0}, []float64{3, 3, 3, 3, 3, 3},
		[]float64{3.0004, 3.0001, 3.0031, 3, 3.0002, 3.0002}, []float64{4, 4, 4, 4, 4, 4}
	for _, c := range []struct {
		metric   string
		old, new []float64
		tol      float64
		want     Outcome
	}{
		{"allocs_per_op", three, three, 0, Pass},
		{"allocs_per_op", three, threeish, 0, Pass},
		{"allocs_per_op", three, four, 0, Regression},
		{"allocs_per_op", four, three, 0, Pass},
		{"allocs_per_op", zeros, zeros, 0, Pass},
		{"allocs_per_op", zeros, three, 0.5, Regression},
		{"bytes_per_second", four, three, 0.05, Regression},
		{"bytes_per_second", three, four, 0.05, Pass},
		{"my_own", three, four, 0.05, Regression}, // which way is better is not known
		{"my_own", four, three, 0.05, Regression},
		{"my_own", three, three, 0.05, Pass},
		{"my_own", three, []float64{-1, -1, -1, -1, -1, -1}, 0.05, Broken},
	} {
		got := compareTwo(metricRun(c.metric, c.old...), metricRun(c.metric, c.new...), CompareOptions{Tolerance: map[string]float64{c.metric: c.tol}})
		if got.Outcome != c.want || len(got.Rows) != 2 {
			t.Errorf("%s from %v to %v is %q, want %q: %+v", c.metric, c.old[0], c.new[0], got.Outcome, c.want, got.Rows)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Error(err)
		}
	}
	got := compareTwo(metricRun("x", three...), metricRun("x", three...), CompareOptions{Tolerance: map[string]float64{"allocs_per_op": 0}})
	outcome(t, got, Broken, 3)
	got = compareTwo(metricRun("x", three...), metricRun("x", three...), CompareOptions{Tolerance: map[string]float64{"x": math.NaN()}})
	outcome(t, got, Broken, 3)
}

func TestCompareInfiniteRatioInJSON(t *testing.T) {
	data, err := json.Marshal(Ratio{Median: math.Inf(1), Lo: 1, Hi: math.NaN(), N: 6})
	if want := `{"value":"inf","lo":1,"hi":null,"confidence":0,"n":6}`; err != nil || string(data) != want {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
}

func TestComparePercentiles(t *testing.T) {
	run := func(samples int, ns int64) *Run {
		r := exactRun(8, named(killPrefix, "a"), map[string]float64{"a": 100})
		for i := range r.Results[0].Blocks {
			h := NewHistogram()
			for range samples {
				h.Record(ns)
			}
			r.Results[0].Blocks[i].Latency = h
		}
		return r
	}
	o := CompareOptions{Tolerance: map[string]float64{"p99": 0.1}}
	outcome(t, compareTwo(run(300, 1000), run(300, 1050), o), Pass, 0)
	outcome(t, compareTwo(run(300, 1000), run(300, 1300), o), Regression, 1)
	few := compareTwo(run(38, 1000), run(37, 1000), o)
	outcome(t, few, Inconclusive, 2)
	if row, want := few.Rows[0], (Reason{Code: ReasonFewLatencies, N: 8 * 37, Of: 299}); row.Run != "new" || row.Reason != want {
		t.Errorf("%+v of the %s run; want %+v of the new one", row.Reason, row.Run, want)
	}
	none := exactRun(8, named(killPrefix, "a"), map[string]float64{"a": 100})
	outcome(t, compareTwo(run(300, 1000), none, o), Broken, 3)
}

func TestCompareSystemCalls(t *testing.T) {
	run := func(calls map[string]int64, missing string) *Run {
		r := exactRun(8, named(killPrefix, "a"), map[string]float64{"a": 100})
		b := Block{Variant: "a", Role: RoleCounted, Ops: 10, Syscalls: calls}
		if missing != "" {
			b.Missing = map[string]Reason{"syscalls": {Code: ReasonText, Text: missing}}
		}
		r.Results[0].Blocks = append(r.Results[0].Blocks, b)
		return r
	}
	o := CompareOptions{Tolerance: map[string]float64{"syscalls_per_op": 0}}
	seven, eight := map[string]int64{"mkdirat": 70}, map[string]int64{"mkdirat": 70, "fstat": 10}
	outcome(t, compareTwo(run(seven, ""), run(seven, ""), o), Pass, 0)
	outcome(t, compareTwo(run(seven, ""), run(eight, ""), o), Regression, 1)
	outcome(t, compareTwo(run(nil, ""), run(nil, ""), o), Pass, 0)
	outcome(t, compareTwo(run(nil, ""), run(seven, ""), o), Regression, 1)
	outcome(t, compareTwo(run(seven, ""), run(nil, "not root"), o), Broken, 3)
}

// What is missing is never a pass, forced or not.
func TestCompareMissingData(t *testing.T) {
	ns := map[string]float64{"a": 100, "b": 100}
	old := exactRun(8, named(killPrefix, "a", "b"), ns)
	for name, spoil := range map[string]func(*Result){
		"a variant without blocks": func(res *Result) {
			res.Blocks = slices.DeleteFunc(res.Blocks, func(b Block) bool { return b.Variant == "b" })
		},
		"a variant that failed": func(res *Result) { res.Variants[1].Error = "no space left" },
		"a block that failed":   func(res *Result) { res.Blocks[3].Error = "killed" },
		"a block without work":  func(res *Result) { res.Blocks[3].Ops = 0 },
	} {
		for _, force := range []bool{false, true} {
			r := exactRun(8, named(killPrefix, "a", "b"), ns)
			spoil(r.Results[0])
			t.Run(name, func(t *testing.T) {
				outcome(t, compareTwo(old, r, CompareOptions{Force: force}), Broken, 3)
				outcome(t, compareTwo(r, old, CompareOptions{Force: force}), Broken, 3)
			})
		}
	}
	outcome(t, compareTwo(old, exactRun(5, named(killPrefix, "a", "b"), ns), CompareOptions{}), Inconclusive, 2)
	empty := &Run{Schema: Schema}
	outcome(t, compareTwo(empty, empty, CompareOptions{Force: true}), Broken, 3)
	outcome(t, compareTwo(old, empty, CompareOptions{Force: true}), Broken, 3)
}

func TestCompareDifferences(t *testing.T) {
	ns := map[string]float64{"a": 100, "b": 100}
	fresh := func() *Run { return exactRun(8, named(killPrefix, "a", "b"), ns) }
	for name, c := range map[string]struct {
		change func(*Run)
		want   Mismatch
	}{
		"kernel":   {func(r *Run) { r.Places[0].Environment.Kernel = "6.12" }, Mismatch{Code: MismatchEnvironment, Place: "here", Field: "kernel", Old: "", New: "6.12"}},
		"go":       {func(r *Run) { r.Places[0].Environment.Go = "go1.27" }, Mismatch{Code: MismatchEnvironment, Place: "here", Field: "go", Old: "", New: "go1.27"}},
		"settings": {func(r *Run) { r.Places[0].Environment.GoSettings = map[string]string{"GOGC": "off"} }, Mismatch{Code: MismatchEnvironment, Place: "here", Field: "go_settings", Old: "", New: "GOGC=off"}},
		"mount":    {func(r *Run) { r.Places[0].Environment.Options = "rw,noatime" }, Mismatch{Code: MismatchEnvironment, Place: "here", Field: "mount_options", Old: "", New: "noatime,rw"}},
		"time":     {func(r *Run) { r.Settings.BlockTime = Nanos(time.Second) }, Mismatch{Code: MismatchSetting, Field: "block_time_ns", Old: "0s", New: "1s"}},
		"quick":    {func(r *Run) { r.Settings.Quick = true }, Mismatch{Code: MismatchSetting, Field: "quick", Old: "false", New: "true"}},
		"process":  {func(r *Run) { r.Settings.InProcess = true }, Mismatch{Code: MismatchSetting, Field: "in_process", Old: "false", New: "true"}},
		"variant": {func(r *Run) {
			r.Results[0].Variants = r.Results[0].Variants[:1]
			r.Results[0].Blocks = slices.DeleteFunc(r.Results[0].Blocks, func(b Block) bool { return b.Variant == "b" })
		}, Mismatch{Code: MismatchMissing, Experiment: "s/n", Variant: "b"}},
		"promise": {func(r *Run) { r.Results[0].Variants[1].Promise = Writes(durability.Power, durability.OldOrNew) }, Mismatch{Code: MismatchPromise, Experiment: "s/n", Variant: "b", Old: "kill, prefix", New: "power, old-or-new"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := fresh()
			c.change(r)
			got := compareTwo(fresh(), r, CompareOptions{})
			outcome(t, got, Broken, 3)
			if !slices.Contains(got.Problems, c.want) {
				t.Errorf("problems: %+v\nwant %+v", got.Problems, c.want)
			}
			got = compareTwo(fresh(), r, CompareOptions{Force: true})
			outcome(t, got, Pass, 0)
			if !slices.Contains(got.Differences, c.want) {
				t.Errorf("differences: %+v\nwant %+v", got.Differences, c.want)
			}
		})
	}

	other := fresh()
	other.Results[0].ID = "s/n/depth=9"
	outcome(t, compareTwo(fresh(), other, CompareOptions{}), Broken, 3)
	outcome(t, compareTwo(fresh(), other, CompareOptions{Force: true}), Broken, 3) // nothing in common
	newer := fresh()
	newer.Schema = "stele.run/9"
	outcome(t, compareTwo(fresh(), newer, CompareOptions{Force: true}), Broken, 3)

	// What does not matter, and what was added, is no difference.
	same := fresh()
	e := &same.Places[0].Environment
	e.Hostname, e.Load, e.FreeBytes, e.Dir, e.Device = "other", 3, 5, "/elsewhere", "/dev/loop9"
	same.Results[0].Variants = append(same.Results[0].Variants, VariantResult{Name: "c", Promise: killPrefix})
	got := compareTwo(fresh(), same, CompareOptions{})
	outcome(t, got, Pass, 0)
	if want := []Mismatch{{Code: MismatchAdded, Experiment: "s/n", Variant: "c"}}; !slices.Equal(got.Differences, want) {
		t.Errorf("differences: %+v", got.Differences)
	}
}

// A figure that nobody has is one error, and not a broken row a variant.
func TestCompareUnknownFigure(t *testing.T) {
	old := exactRun(8, named(killPrefix, "a", "b"), map[string]float64{"a": 100, "b": 100})
	old.Results[0].Blocks[0].Metrics = map[string]float64{"depth": 3}
	with := func(name string) *CompareReport {
		return compareTwo(old, old, CompareOptions{Tolerance: map[string]float64{name: 0.1}, Force: true})
	}
	got := with("bogus")
	outcome(t, got, Broken, 3)
	if want := []Mismatch{{Code: MismatchMetric, Field: "bogus"}}; !slices.Equal(got.Problems, want) || len(got.Rows) != 0 {
		t.Errorf("problems: %+v, %d rows", got.Problems, len(got.Rows))
	}
	for _, name := range []string{"depth", "p99.9", "gc_count"} {
		if got := with(name); len(got.Problems) > 0 {
			t.Errorf("%s: %+v", name, got.Problems)
		}
	}
}

// One place each is the same place by another name; of several, the names
// decide.
func TestComparePlaces(t *testing.T) {
	ns := map[string]float64{"a": 100}
	in := func(names ...string) *Run {
		r := exactRun(8, named(killPrefix, "a"), ns)
		one := r.Results[0]
		r.Places, r.Results = nil, nil
		for _, name := range names {
			res := *one
			res.Place = name
			r.Places, r.Results = append(r.Places, Place{Name: name}), append(r.Results, &res)
		}
		return r
	}
	outcome(t, compareTwo(in("/tmp/1"), in("/tmp/2"), CompareOptions{}), Pass, 0)
	outcome(t, compareTwo(in("ext4", "xfs"), in("xfs", "ext4"), CompareOptions{}), Pass, 0)
	got := compareTwo(in("ext4", "xfs"), in("ext4"), CompareOptions{})
	if want := (Mismatch{Code: MismatchPlace, Place: "xfs"}); got.Outcome != Broken || !slices.Contains(got.Problems, want) {
		t.Errorf("got %+v, want %q", got, want)
	}
}

// Runs of the same variant on a noisy disk are never a regression, and one
// that takes 30 % longer never passes.
func TestCompareOnANoisyDisk(t *testing.T) {
	count := func(ratio float64) map[Outcome]int {
		m := map[Outcome]int{}
		for i := range uint64(40) {
			d := newDisk(i, 0.05)
			d.drift = 0
			old, new := simulated(i, 20, d, 1), simulated(i+100, 20, d, ratio)
			c := compareTwo(old, new, CompareOptions{})
			m[c.Rows[1].Outcome]++
		}
		return m
	}
	same, worse := count(1), count(1.3)
	t.Log(same, worse)
	if same[Regression]+same[Broken] > 1 || same[Pass] == 0 {
		t.Errorf("of 40 runs without a difference: %v", same)
	}
	if worse[Regression] < 36 || worse[Pass] > 0 {
		t.Errorf("of 40 runs that take 30 %% longer: %v", worse)
	}
}
