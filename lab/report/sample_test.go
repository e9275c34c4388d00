package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
)

const (
	sampleRounds  = 20
	sampleWindows = 16
)

type sampleVariant struct {
	name    string
	doc     string
	level   durability.Level
	base    bool
	perOp   float64 // ns
	jitter  float64 // sigma of the logarithm, between blocks
	batch   int64
	calls   float64
	allocs  float64
	failing string
}

func sampleVariants(scale float64) []sampleVariant {
	return []sampleVariant{
		{name: "os.MkdirAll", doc: "the standard library, path by path", level: durability.Kill, base: true, perOp: 40e3 * scale, jitter: .03, batch: 1, calls: 15, allocs: 13},
		{name: "loop of os.Mkdir", doc: "each prefix, ignoring what exists", level: durability.Kill, perOp: 39.4e3 * scale, jitter: .06, batch: 1, calls: 7, allocs: 8},
		{name: "Maker.All", doc: "a root descriptor and a cache", level: durability.Kill, perOp: 19e3 * scale, jitter: .03, batch: 64, calls: 7, allocs: 2},
		{name: "os.MkdirAll + fsync", doc: "the standard library, every parent synced", level: durability.Power, base: true, perOp: 9e6 * scale, jitter: .08, batch: 1, calls: 36, allocs: 34},
		{name: "Maker.All, power", doc: "every parent synced once", level: durability.Power, perOp: 3.1e6 * scale, jitter: .08, batch: 1, calls: 22, allocs: 2},
	}
}

// sampleRun is a run with everything in it that a report has to show.
func sampleRun(t testing.TB) *run.Run {
	t.Helper()
	r := &run.Run{
		Schema: run.Schema, Version: "v0.1.0", Command: []string{"stele", "bench", "mkdir", "--fs", "ext4,tmpfs", "--mix-levels"},
		Started: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), Duration: run.Nanos(9*time.Minute + 41*time.Second),
		Seed: 20260314, Partial: "interrupted after 20 of 30 rounds; everything below was measured in those 20",
		Settings: run.Settings{Rounds: sampleRounds, BlockTime: run.Nanos(50 * time.Millisecond), Tolerance: .05, Test: "bootstrap", MixLevels: true},
		Clock:    run.Clock{PerReading: 41, PerOp: 46.3, Resolution: 1},
		Places: []run.Place{
			{Name: "ext4", Environment: sampleEnvironment("ext4")},
			{Name: "tmpfs", Environment: sampleEnvironment("tmpfs")},
		},
		Notes: []string{"The places were measured one after the other, not interleaved: compare within a place only."},
	}
	rng := newRand()
	var at run.Nanos
	fresh := sampleResult(rng, &at, "fresh-7", "ext4", nil, sampleVariants(1))
	fresh.Comparisons = append(fresh.Comparisons, run.Comparison{
		Variant: "Maker.All, power", Baseline: "os.MkdirAll", Mixed: true, P: 1e-6, PHolm: 3e-6, Test: "bootstrap", Tolerance: .05, Verdict: run.Slower,
		Ratio: run.Estimate{Median: 77.2, Lo: 74.9, Hi: 79.8, Confidence: .95, N: sampleRounds}})
	fresh.Question = "Which way makes a fresh path of seven directories fastest?"
	fresh.Op = "one path of 7 new directories"

	fresh.Rounds = 12
	for i := range 2 {
		fresh.Variants[i].Waits = sampleWaits(i)
		fresh.Variants[i].Trace = sampleTrace(i)
	}
	cannot := .125
	fresh.Comparisons[0].LeastPHolm = &cannot

	vs := sampleVariants(30)
	vs[4].failing = "sync of the parent: no space left on device <ENOSPC> & \x1b[31mred\x1b[0m | pipe"
	batch := sampleResult(rng, &at, "batch", "ext4", nil, vs)
	batch.Question = "Which way makes 10,000 paths with shared prefixes fastest?"
	batch.Op = "10,000 paths, 2,871 distinct directories"

	r.Results = append(r.Results, fresh, batch)
	for _, depth := range []int{16, 1, 2, 4, 8} { // not in order: the report sorts
		res := sampleResult(rng, &at, "depth", "ext4", run.Params{"depth": fmt.Sprint(depth)}, sampleVariants(float64(depth)/7))
		res.Question = "How does the time grow with the depth of the path?"
		res.Op = "one path of new directories"
		r.Results = append(r.Results, res)
	}
	tmp := sampleResult(rng, &at, "fresh-7", "tmpfs", nil, sampleVariants(.2)[:3])
	tmp.Question, tmp.Op = fresh.Question, fresh.Op
	tmp.Noise = nil
	r.Results = append(r.Results, tmp)
	for _, res := range r.Results {
		res.Findings = sampleFindings(res)
	}
	r.Claims = sampleClaims()
	return r
}

// sampleWaits has more causes than there are colours, one of them for a part
// of the block only, and in the second variant a kernel that shows little.
func sampleWaits(variant int) *run.VariantWaits {
	shares := []float64{.61, .2, .09, .04, .02, .015, .012, .008, .0045, .0005}
	causes := []string{"ready, waiting for a processor (GOMAXPROCS)", "folder's lock (i_rwsem)", "in a system call, on a CPU or waiting for one",
		"running Go code", "blocked: sync", "ext4 journal", "disk, flush", "name cache (another look-up of the name)", "blocked: select", "kernel, in vm_mmap_pgoff"}
	w := &run.VariantWaits{Blocks: 6, Goroutines: 438.6, Samples: 213, Threads: 43.5, Parked: 9.29, Missing: map[string]string{}}
	for i, share := range shares {
		c := run.WaitCause{Cause: causes[i], Share: run.Estimate{Median: share, Lo: share * .9, Hi: share * 1.1, Confidence: .97, N: 6},
			PerOp: run.Estimate{Median: share * 8e6, Lo: share * 7e6, Hi: share * 9e6, Confidence: .97, N: 6}}
		if i == 1 || i > 4 {
			c.Where, c.Symbol = run.WaitKernel, "path_openat"
		}
		for k := range 32 {
			x := share * 438.6 * (1.2 - .4*float64(k)/31)
			if i == 4 && k > 16 {
				x = 0
			}
			c.Over = append(c.Over, x)
		}
		w.Causes = append(w.Causes, c)
	}
	w.Contention = []run.Contention{
		{Profile: "block", Call: "sync.(*Mutex).Lock", In: "example.org/app.(*store).put <b>", Count: 41, Time: 81e6},
		{Profile: "mutex", Call: "sync.(*Mutex).Unlock", In: "example.org/app.(*store).put", Count: 40, Time: 79e6},
	}
	if variant == 1 {
		w.Missing["stack"] = "a thread's kernel stack may not be read (permission denied): causes are by wchan, the innermost function alone"
		w.Causes = w.Causes[:3]
	}
	return w
}

// sampleFindings are those that run.Run.Analyse draws from such comparisons.
func sampleFindings(res *run.Result) []run.Finding {
	var out []run.Finding
	for _, t := range tiers(res) {
		base := t.Rows[slices.IndexFunc(t.Rows, func(r row) bool { return r.V.Baseline })].V
		f := run.Finding{Promise: t.Promise, Baseline: base.Name, Kind: run.FoundAlone, Tolerance: .05}
		for _, r := range t.Rows {
			switch c := r.Comparison; {
			case c == nil || r.V.Error != "":
			case c.Verdict == run.Faster:
				f.Kind, f.Fastest, f.Ratio = run.FoundWinner, c.Variant, &c.Ratio
			case f.Kind != run.FoundWinner:
				f.Kind = run.FoundUnclear
				f.Unclear = append(f.Unclear, run.Unclear{Variant: c.Variant, To: c.Baseline, Why: run.UnclearWide, Ratio: c.Ratio, Visible: .08})
			}
		}
		if f.Kind == run.FoundWinner {
			f.Unclear = nil
		}
		out = append(out, f)
	}
	return out
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(3, 14)) }

func sampleEnvironment(fs string) run.Environment {
	e := run.Environment{
		Hostname: "quarry", OS: "linux", Arch: "amd64", Kernel: "6.12.8", CPU: "AMD EPYC 7763 64-Core Processor", CPUs: 2, Memory: 8 << 30,
		Virtual: "kvm", Load: .42, Go: "go1.26.0", GOMAXPROCS: 2, GoSettings: map[string]string{"GOGC": "off"},
		Dir: "/srv/bench", FS: fs, Mount: "/srv/bench", Options: "rw,noatime", Journal: "ordered", FreeBytes: 900 << 20, TotalBytes: 1 << 30,
		Device: "/dev/loop3", DeviceID: "7:3", Rotational: "no", Scheduler: "none", WriteCache: "write back", Backing: "/srv/images/ext4.img",
		Unknown:  map[string]string{"governor": "no cpufreq in this virtual machine", "model": "a loop device has none"},
		Warnings: []run.Warning{{Code: "busy", Text: "the load average was 0.42 when the run began; stop what else runs here and measure again"}},
	}
	if fs == "tmpfs" {
		e.Journal, e.Device, e.DeviceID, e.Backing, e.Scheduler, e.WriteCache, e.Rotational = "n/a", "", "", "", "", "", ""
		e.Unknown["journal"], e.Unknown["device"] = "tmpfs keeps none", "tmpfs is memory"
		e.Warnings = append(e.Warnings, run.Warning{Code: "tmpfs", Text: "this folder is memory: nothing in it survives a power cut, and a sync costs nothing"})
	}
	return e
}

func sampleClaims() []run.Claim {
	c := func(id, statement, claimed, measured, verdict, why string) run.Claim {
		return run.Claim{ID: id, Statement: statement, Claimed: claimed, Measured: measured, Verdict: verdict, Why: why,
			Promise: "kill, prefix", Place: "ext4", Results: []string{"mkdir/fresh-7"}}
	}
	return []run.Claim{
		c("D1", "os.MkdirAll (A) against a loop of os.Mkdir over each prefix (B)", "B 1.9x faster, marked from depth 5 on", "A/B 1.02x [0.99, 1.05]", "does not hold",
			"the interval lies inside the tolerance at every depth: both ways make the same seven system calls that take the time"),
		c("D2", "count the system calls of os.MkdirAll", "MkdirAll stats every level again and again", "15 calls for 7 levels, 8 of them stat", "holds", "counted with kernel tracepoints"),
		c("D5", "sorted and de-duplicated batch", "from O(n*d^2) to O(N*d)", "calls grow as n*d in both", "depends", "on the share of common prefixes: with none, sorting wins nothing"),
		c("D7", "random 4 KiB writes by libaio: ext4, XFS, APFS", "knee past 4, 16, 8 jobs", "", "cannot be tested here", "APFS does not exist on Linux; libaio's device is a loop image"),
	}
}

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
		Missing: map[string]string{"cache_misses_per_op": "no hardware counters in this virtual machine"},
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
	out := run.VariantResult{Name: v.name, Doc: v.doc, Promise: durability.Promise{Level: v.level, After: durability.Prefix}, Baseline: v.base,
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
	out.Missing = map[string]string{"cache_misses_per_op": "no hardware counters in this virtual machine"}
	out.Syscalls = map[string]float64{"mkdirat": 7, "newfstatat": v.calls - 7}
	if v.level == durability.Power {
		delete(out.Metrics, "syscalls_per_op")
		out.Syscalls = nil
		out.Missing["syscalls"] = "kernel tracepoints need root"
		out.Missing["device_flushes_per_op"] = "a loop device counts none"
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
