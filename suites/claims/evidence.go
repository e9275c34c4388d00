package claims

import (
	"fmt"
	"math"
	"slices"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
)

// evidence is the results of one place. A method that is asked for a missing
// result notes it and returns NaN, so that a rule needs no check at each step:
// Judge overrules its verdict.
type evidence struct {
	place   run.Place
	results map[string]*run.Result // by ID
	missing []string               // what a rule asked for in vain
}

// miss notes a missing result, once.
func (ev *evidence) miss(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if !slices.Contains(ev.missing, s) {
		ev.missing = append(ev.missing, s)
	}
}

var noEstimate = run.Estimate{Median: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}

// variant returns the results of a variant. It returns nil, and notes why, if the
// variant has none or failed.
func (ev *evidence) variant(id, name string) *run.VariantResult {
	r := ev.results[id]
	if r == nil {
		ev.miss("no result of %s", id)
		return nil
	}
	for i := range r.Variants {
		v := &r.Variants[i]
		if v.Name != name {
			continue
		}
		if v.Error != "" {
			ev.miss("%s failed: %s", id, v.Error)
			return nil
		}
		return v
	}
	ev.miss("no variant %q in %s", name, id)
	return nil
}

// time returns the time of one operation in nanoseconds.
func (ev *evidence) time(id, name string) run.Estimate {
	v := ev.variant(id, name)
	if v == nil {
		return noEstimate
	}
	if v.Time.N == 0 {
		ev.miss("no timed block of %q in %s", name, id)
		return noEstimate
	}
	return v.Time
}

func (ev *evidence) metric(id, name, metric string) run.Estimate {
	v := ev.variant(id, name)
	if v == nil {
		return noEstimate
	}
	if e, ok := v.Metrics[metric]; ok {
		return e
	}
	why := v.Missing[metric]
	if why == "" {
		why = "not reported"
	}
	ev.miss("%s of %q in %s: %s", metric, name, id, why)
	return noEstimate
}

// known is metric for figures that not every machine has: it returns why a figure
// is missing instead of noting it.
func (ev *evidence) known(id, name, metric string) (e run.Estimate, why string) {
	v := ev.variant(id, name)
	if v == nil {
		return noEstimate, "not measured"
	}
	if e, ok := v.Metrics[metric]; ok {
		return e, ""
	}
	if why := v.Missing[metric]; why != "" {
		return noEstimate, why
	}
	return noEstimate, "not reported"
}

// speedup returns how many times faster a variant is than its baseline.
func (ev *evidence) speedup(id, name string) run.Estimate {
	if ev.variant(id, name) == nil {
		return noEstimate
	}
	for _, c := range ev.results[id].Comparisons {
		if c.Variant == name {
			return inverse(c.Ratio)
		}
	}
	ev.miss("no comparison of %q in %s", name, id)
	return noEstimate
}

// times returns how many times faster one variant is than another with a different
// promise, which the lab does not compare with it. The two ran in the same rounds,
// but are not paired: the interval is the widest that theirs allow.
func (ev *evidence) times(id, slow, fast string) run.Estimate {
	return quotient(ev.time(id, slow), ev.time(id, fast))
}

// timesAcross returns how many times faster a variant of one experiment is than one
// of another. They ran in different rounds: the interval is the widest that theirs
// allow.
func (ev *evidence) timesAcross(slowID, slow, fastID, fast string) run.Estimate {
	return quotient(ev.time(slowID, slow), ev.time(fastID, fast))
}

// calls returns the number of system calls of the given names in an operation.
func (ev *evidence) calls(id, name string, calls ...string) float64 {
	v := ev.variant(id, name)
	if v == nil {
		return math.NaN()
	}
	if v.Syscalls == nil {
		why := v.Missing["syscalls"]
		if why == "" {
			why = "they were not counted"
		}
		ev.miss("system calls: %s", why)
		return math.NaN()
	}
	sum := 0.0
	for _, c := range calls {
		sum += v.Syscalls[c]
	}
	return sum
}

// System calls that look a path up and that make a directory, under their names on
// different processors.
var (
	statCalls  = []string{"stat", "lstat", "newfstatat", "statx"}
	mkdirCalls = []string{"mkdir", "mkdirat"}
)

// tail returns the median of the blocks' 99th percentiles, or why there is none. It
// has an interval, unlike the percentile of all operations together.
func (ev *evidence) tail(id, name string) (e run.Estimate, why string) {
	if ev.variant(id, name) == nil {
		return noEstimate, "not measured"
	}
	var of []float64
	for _, b := range ev.results[id].Blocks {
		if b.Variant != name || b.Role != run.RoleTimed || b.Latency == nil {
			continue
		}
		if err := stats.CheckPercentile(99, b.Latency.Count(), 0.95); err != nil {
			return noEstimate, err.Error()
		}
		of = append(of, b.Latency.Quantile(0.99))
	}
	if len(of) == 0 {
		return noEstimate, "not measured"
	}
	m := stats.Median(of, 0.95)
	return run.Estimate{Median: m.Value, Lo: m.Lo, Hi: m.Hi, Confidence: m.Confidence, N: m.N}, ""
}

// failed returns why an experiment has no figures, or "" if it has.
func (ev *evidence) failed(id string) string {
	r := ev.results[id]
	if r == nil {
		return "no result of " + id
	}
	for i := range r.Variants {
		if err := r.Variants[i].Error; err != "" {
			return err
		}
	}
	return ""
}

// opsOf returns the number of operations of the first timed block, or 0 if there is
// none.
func opsOf(r *run.Result) int64 {
	if r != nil {
		for i := range r.Blocks {
			if r.Blocks[i].Role == run.RoleTimed {
				return r.Blocks[i].Ops
			}
		}
	}
	return 0
}

// opsOfVariant returns the number of operations of a variant's first timed block, or 0
// if there is none. Variants of a stateless experiment differ in it.
func opsOfVariant(r *run.Result, variant string) int64 {
	if r != nil {
		for i := range r.Blocks {
			if b := &r.Blocks[i]; b.Role == run.RoleTimed && b.Variant == variant {
				return b.Ops
			}
		}
	}
	return 0
}

// p99 returns the 99th percentile in nanoseconds, or why there is none.
func p99(v *run.VariantResult) (ns float64, why string) {
	if v != nil {
		for _, p := range v.Latency {
			if p.P != 99 {
				continue
			}
			if err := p.Err(); err != nil {
				return 0, err.Error()
			}
			return p.NS, ""
		}
	}
	return 0, "not measured"
}
