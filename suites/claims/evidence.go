package claims

import (
	"fmt"
	"math"
	"slices"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
)

// found is what was measured in one place. Asking for something that is not
// there is noted and answered with NaN, so that a rule can be written without
// a check at each step: Judge overrules its verdict.
type found struct {
	place   run.Place
	results map[string]*run.Result // by ID
	lacks   []string
}

func (f *found) lack(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if !slices.Contains(f.lacks, s) {
		f.lacks = append(f.lacks, s)
	}
}

var noEstimate = run.Estimate{Median: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}

// variant returns what was found about a variant, nil where there is nothing.
func (f *found) variant(id, name string) *run.VariantResult {
	r := f.results[id]
	if r == nil {
		f.lack("no result of %s", id)
		return nil
	}
	for i := range r.Variants {
		v := &r.Variants[i]
		if v.Name != name {
			continue
		}
		if v.Error != "" {
			f.lack("%s failed: %s", id, v.Error)
			return nil
		}
		return v
	}
	f.lack("no variant %q in %s", name, id)
	return nil
}

// time is the time of one operation in nanoseconds.
func (f *found) time(id, name string) run.Estimate {
	v := f.variant(id, name)
	if v == nil {
		return noEstimate
	}
	if v.Time.N == 0 {
		f.lack("no timed block of %q in %s", name, id)
		return noEstimate
	}
	return v.Time
}

func (f *found) metric(id, name, metric string) run.Estimate {
	v := f.variant(id, name)
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
	f.lack("%s of %q in %s: %s", metric, name, id, why)
	return noEstimate
}

// known is metric for figures that a machine need not have: why there is none
// is returned, and not noted as lacking.
func (f *found) known(id, name, metric string) (e run.Estimate, why string) {
	v := f.variant(id, name)
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

// speedup is how many times faster a variant is than its baseline.
func (f *found) speedup(id, name string) run.Estimate {
	if f.variant(id, name) == nil {
		return noEstimate
	}
	for _, c := range f.results[id].Comparisons {
		if c.Variant == name {
			return inverse(c.Ratio)
		}
	}
	f.lack("no comparison of %q in %s", name, id)
	return noEstimate
}

// times says by how much one variant is faster than another that promises
// something else, and so was not compared with it by the lab. The two ran in
// the same rounds; without the pairing the interval is the widest that theirs
// allow.
func (f *found) times(id, slow, fast string) run.Estimate {
	return quotient(f.time(id, slow), f.time(id, fast))
}

// timesAcross says by how much a variant of one experiment is faster than one
// of another. They ran in different rounds: the interval is the widest that
// theirs allow.
func (f *found) timesAcross(slowID, slow, fastID, fast string) run.Estimate {
	return quotient(f.time(slowID, slow), f.time(fastID, fast))
}

// calls counts system calls of the given names an operation.
func (f *found) calls(id, name string, calls ...string) float64 {
	v := f.variant(id, name)
	if v == nil {
		return math.NaN()
	}
	if v.Syscalls == nil {
		why := v.Missing["syscalls"]
		if why == "" {
			why = "they were not counted"
		}
		f.lack("system calls: %s", why)
		return math.NaN()
	}
	sum := 0.0
	for _, c := range calls {
		sum += v.Syscalls[c]
	}
	return sum
}

// Calls that look a path up, and calls that make a directory, by the names
// that they have on different processors.
var (
	statCalls  = []string{"stat", "lstat", "newfstatat", "statx"}
	mkdirCalls = []string{"mkdir", "mkdirat"}
)

// tail is the 99th percentile of a block, or why there is none. It has a datum
// a block and so an interval, unlike that of all operations together.
func (f *found) tail(id, name string) (e run.Estimate, why string) {
	if f.variant(id, name) == nil {
		return noEstimate, "not measured"
	}
	var of []float64
	for _, b := range f.results[id].Blocks {
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

// failed says why an experiment has no figures, "" where it has.
func (f *found) failed(id string) string {
	r := f.results[id]
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

// opsOf is the number of operations of a timed block, 0 where there is none.
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

// opsOfVariant is the number of operations of a variant's timed block, 0
// where there is none: where operations leave nothing behind each variant has
// its own.
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
