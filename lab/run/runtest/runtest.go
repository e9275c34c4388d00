// Package runtest makes up runs for tests of packages that present or compare them. They
// are the same each time.
package runtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
)

const (
	sampleRounds  = 20
	sampleWindows = 16
)

// Full returns a run as large as those of the full set: 14 experiments of 13
// variants each.
func Full() *run.Run {
	r := Sample()
	var vs []sampleVariant
	for i := range 13 {
		v := sampleVariants(1)[i%3]
		v.name, v.base = fmt.Sprintf("variant %d", i), i == 0
		if i > 6 {
			v.level, v.base = durability.Power, i == 7
		}
		vs = append(vs, v)
	}
	first := r.Results[0]
	full := sampleResult(newRand(), new(run.Nanos), "full", "ext4", nil, vs)
	r.Results = nil
	for i := range 14 {
		res := *full
		res.ID, res.Name = fmt.Sprintf("mkdir/job-%d", i), fmt.Sprintf("job-%d", i)
		res.Question, res.Op, res.Findings = first.Question, first.Op, first.Findings
		r.Results = append(r.Results, &res)
	}
	return r
}

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

// Sample returns a run with everything in it that a report has to show: two
// places, several promises, a group of parameters, a failed variant, waits,
// traces and claims.
func Sample() *run.Run {
	r := &run.Run{
		Schema: run.Schema, Version: "v0.1.0", Command: []string{"stele", "bench", "mkdir", "--fs", "ext4,tmpfs", "--mix-levels"},
		Started: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), Duration: run.Nanos(9*time.Minute + 41*time.Second),
		Seed: 20260314, Partial: &run.Partial{Cause: "interrupted", After: 93e9, Begun: 3, Of: 7},
		Settings: run.Settings{Rounds: sampleRounds, BlockTime: run.Nanos(50 * time.Millisecond), Tolerance: .05, Test: "bootstrap", MixLevels: true},
		Clock:    run.Clock{PerReading: 41, PerOp: 46.3, Resolution: 1},
		Places: []run.Place{
			{Name: "ext4", Environment: sampleEnvironment("ext4")},
			{Name: "tmpfs", Environment: sampleEnvironment("tmpfs")},
		},
		Notes: []run.Note{
			{Code: run.NoteText, Text: "The places were measured one after the other, not interleaved: compare within a place only."},
			{Code: run.NoteJitter, Place: "ext4", Text: "append", N: 2, Jumps: []run.JitterJump{{Variant: "write + fsync", From: 80, To: 80, Most: 200}, {Variant: "O_DSYNC", Most: 200}}},
		},
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
	causes := []string{run.CauseRunnable, run.CauseDirectoryLock, run.CauseSyscallBusy,
		run.CauseRunning, run.CauseGo + "sync", run.CauseJournal, run.CauseDiskFlush, run.CauseNameCache, run.CauseGo + "select", run.CauseIn + "vm_mmap_pgoff"}
	w := &run.VariantWaits{Blocks: 6, Goroutines: 438.6, Samples: 213, Threads: 43.5, Parked: 9.29, Missing: map[string]run.Reason{}}
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
		w.Missing["stack"] = run.Reason{Code: run.ReasonText, Text: "permission denied"}
		w.Causes = w.Causes[:3]
	}
	return w
}

// sampleFindings are those that run.Run.Analyse draws from such comparisons.
func sampleFindings(res *run.Result) []run.Finding {
	var out []run.Finding
	for i := range res.Variants {
		base := &res.Variants[i]
		if !base.Baseline {
			continue
		}
		f := run.Finding{Promise: base.Promise, Baseline: base.Name, Kind: run.FoundAlone, Tolerance: .05}
		for k := range res.Comparisons {
			switch c := &res.Comparisons[k]; {
			case c.Mixed || c.Baseline != base.Name:
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
		Unknown:  map[string]run.Reason{"governor": {Code: run.ReasonNoCPUFreq}, "model": {Code: run.ReasonNoModel, Text: "loop3"}},
		Warnings: []run.Warning{{Code: "busy", Text: "the load average was 0.42 when the run began; stop what else runs here and measure again"}},
	}
	if fs == "tmpfs" {
		e.Journal, e.Device, e.DeviceID, e.Backing, e.Scheduler, e.WriteCache, e.Rotational = "n/a", "", "", "", "", "", ""
		e.Unknown["journal"] = run.Reason{Code: run.ReasonInMemory, Text: fs}
		e.Unknown["device"] = e.Unknown["journal"]
		e.Warnings = append(e.Warnings, run.Warning{Code: "tmpfs", Text: "this directory is memory: nothing in it survives a power cut, and a sync costs nothing"})
	}
	return e
}

func sampleClaims() []run.Claim {
	c := func(id, statement, claimed, measured, verdict, why string) run.Claim {
		return run.Claim{ID: id, Statement: statement, Claimed: claimed, Measured: measured, Verdict: verdict, Why: why,
			Source: "report 001, section 3", Promise: "kill, prefix", Place: "ext4", Results: []string{"mkdir/fresh-7"}}
	}
	return []run.Claim{
		c("D1", "os.MkdirAll (A) against a loop of os.Mkdir over each prefix (B)", "B 1.9x faster, marked from depth 5 on", "A/B 1.02x [0.99, 1.05]", "does not hold",
			"the interval lies inside the tolerance at every depth: both ways make the same seven system calls that take the time"),
		c("D2", "count the system calls of os.MkdirAll", "MkdirAll stats every level again and again", "15 calls for 7 levels, 8 of them stat", "holds", "counted with kernel tracepoints"),
		c("D5", "sorted and de-duplicated batch", "from O(n*d^2) to O(N*d)", "calls grow as n*d in both", "depends", "on the share of common prefixes: with none, sorting wins nothing"),
		c("D7", "random 4 KiB writes by libaio: ext4, XFS, APFS", "knee past 4, 16, 8 jobs", "", "cannot be tested here", "APFS does not exist on Linux; libaio's device is a loop image"),
	}
}
