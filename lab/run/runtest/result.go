package runtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
)

func sampleResult(rng *rand.Rand, at *run.Nanos, name, place string, params run.Params, vs []sampleVariant) *run.Result {
	res := &run.Result{ID: "mkdir/" + name, Suite: "mkdir", Name: name, Params: params, Place: place}
	if params != nil {
		res.ID += "/" + params.String()
	}
	perOp := make([][]float64, len(vs))
	hists := make([]*run.Histogram, len(vs))
	for i := range hists {
		hists[i] = run.NewHistogram()
	}
	for i, v := range vs {
		res.Blocks = append(res.Blocks, sampleBlock(rng, at, v, run.RolePilot, 0, nil))
		if i == 0 {
			counted := sampleBlock(rng, at, v, run.RoleCounted, 0, nil)
			counted.Syscalls = map[string]int64{"mkdirat": 7 * counted.Ops}
			res.Blocks = append(res.Blocks, counted)
		}
	}
	for round := range sampleRounds {
		for _, i := range rng.Perm(len(vs)) {
			if vs[i].failing != "" {
				*at += 1e6
				res.Blocks = append(res.Blocks, run.Block{Variant: vs[i].name, Role: run.RoleTimed, Round: round, Start: *at, Error: vs[i].failing})
				continue
			}
			b := sampleBlock(rng, at, vs[i], run.RoleTimed, round, hists[i])
			perOp[i] = append(perOp[i], b.PerOp())
			res.Blocks = append(res.Blocks, b)
		}
		if round%5 == 0 {
			res.Blocks = append(res.Blocks, sampleBlock(rng, at, vs[0], run.RoleCalibration, round, nil))
		}
	}
	for i, v := range vs {
		res.Variants = append(res.Variants, sampleVariantResult(v, perOp[i], hists[i]))
	}
	sampleComparisons(res, vs, perOp)
	res.Noise = &run.Noise{Variant: vs[0].name, Floor: .021, Ratio: run.Estimate{Median: 1.004, Lo: .985, Hi: 1.021, Confidence: .95, N: sampleRounds}}
	return res
}

func sampleBlock(rng *rand.Rand, at *run.Nanos, v sampleVariant, role string, round int, all *run.Histogram) run.Block {
	mean := v.perOp * math.Exp(v.jitter*rng.NormFloat64())
	if round == 13 && v.base && role == run.RoleTimed {
		mean *= 1.45 // the outlier
	}
	ops := min(max(int64(60e6/v.perOp), 6), 1000)
	h := run.NewHistogram()
	for range ops {
		x := mean * math.Exp(.35*rng.NormFloat64()-.06)
		if rng.IntN(150) == 0 {
			x *= 12
		}
		h.Record(int64(x))
	}
	if all != nil {
		all.Merge(h)
	}
	wallTime := run.Nanos(mean * float64(ops))
	b := run.Block{
		Variant: v.name, Role: role, Round: round, Start: *at, Ops: ops, Batch: v.batch, Wall: wallTime, Latency: h,
		Metrics: map[string]float64{
			"cpu_user_ns_per_op": mean * .2, "cpu_sys_ns_per_op": mean * .6, "allocs_per_op": v.allocs, "alloc_bytes_per_op": v.allocs * 48,
			"gc_count": 0, "peak_rss_bytes": 12 << 20, "iowait_share": .013, "bytes_per_second": 0,
		},
		Missing: map[string]run.Reason{"cache_misses_per_op": {Code: run.ReasonText, Text: "no hardware counters in this virtual machine"}},
	}
	n := run.Nanos(sampleWindows)
	for i := range n {
		w := mean * math.Exp(.08*rng.NormFloat64())
		win := run.Window{At: wallTime * i / n, Len: wallTime / n, Ops: max(ops/int64(n), 1), Mean: w, Max: w * (2 + 8*rng.Float64()),
			Heap: int64(2<<20 + float64(i%8)*v.allocs*40e3)}
		if v.allocs > 5 && i == 7 {
			win.GCs = 1 + int64(rng.IntN(2))
		}
		b.Windows = append(b.Windows, win)
	}
	*at += wallTime + run.Nanos(30*time.Millisecond)
	return b
}

func sampleVariantResult(v sampleVariant, perOp []float64, h *run.Histogram) run.VariantResult {
	out := run.VariantResult{Name: v.name, Doc: v.doc, Promise: run.Writes(v.level, durability.Prefix), Baseline: v.base,
		Error: v.failing, Batch: v.batch, Steady: run.Steady{Reached: true, Trend: "none", TrendP: .4}}
	if v.failing != "" {
		return out
	}
	out.Time = sampleEstimate(perOp)
	for _, p := range []float64{50, 90, 99, 99.9} {
		x := run.Percentile{P: p, NS: h.Quantile(p / 100)}
		if p == 99.9 || p == 99 && v.level == durability.Power {
			x = run.Percentile{P: p, Few: h.Count()}
		}
		out.Latency = append(out.Latency, x)
	}
	same := func(x float64) run.Estimate {
		return run.Estimate{Median: x, Lo: x, Hi: x, Confidence: .95, N: len(perOp)}
	}
	out.Metrics = map[string]run.Estimate{
		"cpu_user_ns_per_op": same(v.perOp * .2), "cpu_sys_ns_per_op": same(v.perOp * .6), "allocs_per_op": same(v.allocs),
		"alloc_bytes_per_op": same(v.allocs * 48), "gc_count": same(0), "peak_rss_bytes": same(12 << 20), "iowait_share": same(.013), "syscalls_per_op": same(v.calls),
	}
	out.Missing = map[string]run.Reason{"cache_misses_per_op": {Code: run.ReasonText, Text: "no hardware counters in this virtual machine"}}
	out.Syscalls = map[string]float64{"mkdirat": 7, "newfstatat": v.calls - 7}
	if v.level == durability.Power {
		delete(out.Metrics, "syscalls_per_op")
		out.Syscalls = nil
		out.Missing["syscalls"] = run.Reason{Code: run.ReasonText, Text: "kernel tracepoints need root"}
		out.Missing["device_flushes_per_op"] = run.Reason{Code: run.ReasonText, Text: "a loop device counts none"}
		out.Steady = run.Steady{First: 15, Last: 19, Blocks: sampleRounds, Needed: 5, Excursion: .31, Slope: .12, Trend: "rising", TrendP: .003, Rise: .12}
	} else {
		out.Metrics["device_flushes_per_op"] = same(0)
	}
	// The warnings that the lab's analysis gives for these.
	if v.base {
		out.Outliers = []int{13}
		out.Warnings = append(out.Warnings, run.Warning{Code: run.WarnOutliers, Rounds: out.Outliers})
	}
	if !out.Steady.Reached {
		out.Warnings = append(out.Warnings, run.Warning{Code: run.WarnUnsteady}, run.Warning{Code: run.WarnTrend})
	}
	if v.batch > 1 {
		out.Warnings = append(out.Warnings, run.Warning{Code: run.WarnBatched, N: v.batch})
	}
	return out
}

// sampleEstimate is the median and an interval about right for 20 blocks.
func sampleEstimate(x []float64) run.Estimate {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	return run.Estimate{Median: (s[n/2-1] + s[n/2]) / 2, Lo: s[n/4], Hi: s[n-1-n/4], Confidence: .959, N: n}
}

func sampleComparisons(res *run.Result, vs []sampleVariant, perOp [][]float64) {
	base := map[durability.Level]int{}
	for i, v := range vs {
		if v.base {
			base[v.level] = i
		}
	}
	for i, v := range vs {
		b := base[v.level]
		if i == b || v.failing != "" {
			continue
		}
		if v.level != vs[0].level {
			res.Refused = append(res.Refused, run.Refusal{Promise: res.Variants[i].Promise, Variants: []string{v.name}, Baseline: vs[0].name})
		}
		var ratios []float64
		for k := range perOp[i] {
			ratios = append(ratios, perOp[i][k]/perOp[b][k])
		}
		sort.Float64s(ratios)
		e := sampleEstimate(ratios)
		c := run.Comparison{Variant: v.name, Baseline: vs[b].name, Ratio: e, P: .00002, PHolm: .00008, Test: "bootstrap", Tolerance: .05, Verdict: run.CannotTell}
		switch {
		case e.Hi < .95:
			c.Verdict = run.Faster
		case e.Lo > 1.05:
			c.Verdict = run.Slower
		case e.Lo > .95 && e.Hi < 1.05:
			c.Verdict = run.Same
		}
		if c.Verdict != run.Faster {
			c.P, c.PHolm = .21, .42
		}
		res.Comparisons = append(res.Comparisons, c)
	}
}

// sampleTrace has chains of one to four links, one too small to be drawn, and
// calls from nanoseconds to seconds; the second variant shows what it lacks.
func sampleTrace(variant int) *run.VariantTrace {
	if variant == 1 {
		return &run.VariantTrace{Missing: map[string]run.Reason{
			"calls":  {Code: run.ReasonText, Text: "time system calls with BPF: create a map: operation not permitted; run as root"},
			"chains": {Code: run.ReasonTraceCut},
		}}
	}
	const app = "example.org/app/store.(*Log)."
	appender := run.Link{Who: app + "Append", How: run.HowBlocked, In: "sync.(*Cond).Wait in " + app + "await"}
	flusher := run.Link{Who: app + "flush", How: run.HowSyscall, In: "os.(*File).Sync in " + app + "commit", Call: "fsync", By: app + "flush"}
	hand := run.Link{Who: app + "flush", How: run.HowBlocked, In: app + "flush", By: app + "flush"}
	journal := []run.KernelShare{{Cause: run.CauseJournalCommit, Share: .79}, {Cause: "disk flush <b>", Share: .21}}
	chain := func(share float64, kernel []run.KernelShare, links ...run.Link) run.ChainShare {
		return run.ChainShare{Chain: run.Chain{Links: links, Time: run.Nanos(share * 4e9)}, Share: share, Kernel: kernel}
	}
	t := &run.VariantTrace{Blocks: 3, Source: run.SourceBPF, ChainBlocks: 8, Followed: 4e9, Chains: []run.ChainShare{
		chain(.62, journal, appender, flusher),
		chain(.18, nil, appender, hand, run.Link{Who: app + "Append", How: run.HowRunning, By: "runtime.chansend1"}),
		chain(.09, nil, run.Link{Who: app + "Append", How: run.HowReady}),
		chain(.05, nil, appender, run.Link{Who: app + "flush", How: run.HowSyscall, In: app + "write", By: app + "flush"}),
		chain(.004, nil, run.Link{Who: "sync.(*WaitGroup).Go.func1", How: run.HowUnfollowed}),
		chain(.001, nil, appender, run.Link{Who: run.WhoTimer, How: run.HowRunning}),
	}}
	call := func(name string, from run.Nanos, counts ...int64) {
		c := run.CallLatency{Call: name, Runtime: run.RuntimeSyscall(name)}
		for _, n := range counts {
			c.Buckets = append(c.Buckets, run.CallBucket{From: from, To: from + from/4 + 1, Count: n})
			c.Count, c.Total, c.Max = c.Count+n, c.Total+run.Nanos(n)*from, from+from/5
			from += from/4 + 1
		}
		c.PerOp = float64(c.Count) / 1000
		c.P50 = run.Percentile{P: 50, NS: float64(c.Total) / float64(c.Count)}
		c.P99 = run.Percentile{P: 99, NS: float64(c.Max)}
		if c.Count < 299 {
			c.P99 = run.Percentile{P: 99, Few: 20}
		}
		t.Calls = append(t.Calls, c)
	}
	call("fsync", 4e6, 12, 80, 31, 9, 3, 0, 0, 0, 1)
	call("write", 1500, 90, 700, 410, 60, 9, 2, 0, 0, 0, 0, 0, 0, 1)
	call("getppid", 60, 5, 31, 12)
	call("futex", 900, 100, 10, 500, 3, 1)
	return t
}
