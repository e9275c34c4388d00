package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
)

// evidence has the results of one place. A method that is asked for a missing result
// notes it and returns NaN. So a rule need not check each step: a part made of it cannot be
// tested, and what was noted is the reason.
type evidence struct {
	place   run.Place
	results map[string]*run.Result // by ID
	missing []string               // that a rule asked for
	early   bool                   // a rule asked for a figure of a variant without a round
}

// miss notes a missing result, once.
func (ev *evidence) miss(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if !slices.Contains(ev.missing, s) {
		ev.missing = append(ev.missing, s)
	}
}

// Figures that are not there: of something that is missing, and of a way without a round.
// Their confidences tell them apart, also in what is made of several figures, where that
// which is missing counts.
var (
	noEstimate = run.Estimate{Median: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Confidence: -2}
	notYet     = run.Estimate{Median: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Confidence: -1}
)

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

// notYet notes that a way had no round, and returns the figure of such a one.
func (ev *evidence) notYet() run.Estimate {
	ev.early = true
	return notYet
}

// time returns the time of one operation in nanoseconds.
func (ev *evidence) time(id, name string) run.Estimate {
	v := ev.variant(id, name)
	if v == nil {
		return noEstimate
	}
	if v.Time.N == 0 {
		return ev.notYet()
	}
	return v.Time
}

func (ev *evidence) metric(id, name, metric string) run.Estimate {
	e, why := ev.known(id, name, metric)
	if why != "" && ev.variant(id, name) != nil {
		ev.miss("%s of %q in %s: %s", metric, name, id, why)
	}
	return e
}

// known is metric for a figure that not every machine has: if it is missing, known
// returns the reason and does not note it.
func (ev *evidence) known(id, name, metric string) (e run.Estimate, why string) {
	v := ev.variant(id, name)
	if v == nil {
		return noEstimate, "not measured"
	}
	if e, ok := v.Metrics[metric]; ok {
		return e, ""
	}
	if noRound(v, v.Missing[metric]) {
		return ev.notYet(), ""
	}
	return noEstimate, cmp.Or(report.Reason(v.Missing[metric]), "not reported")
}

// noRound reports whether a variant lacks a figure because it had no round: why is the
// reason that the run gives, which of counted calls is that no block counted them.
func noRound(v *run.VariantResult, why run.Reason) bool {
	return v.Time.N == 0 && (why == run.Reason{} || why.Code == run.ReasonNotCounted)
}

// speedup returns how many times as fast as its baseline a variant is.
func (ev *evidence) speedup(id, name string) run.Estimate {
	v := ev.variant(id, name)
	if v == nil {
		return noEstimate
	}
	if v.Time.N == 0 {
		return ev.notYet()
	}
	for _, c := range ev.results[id].Comparisons {
		if c.Variant == name {
			return inverse(c.Ratio)
		}
	}
	ev.miss("no comparison of %q in %s", name, id)
	return noEstimate
}

// timesAcross returns how many times as long as a variant of another experiment one takes.
// The two are not paired: the interval is the widest that theirs allow.
func (ev *evidence) timesAcross(slowID, slow, fastID, fast string) run.Estimate {
	return quotient(ev.time(slowID, slow), ev.time(fastID, fast))
}

// calls returns the number of system calls of the given names in an operation.
func (ev *evidence) calls(id, name string, calls ...string) float64 {
	v := ev.variant(id, name)
	if v == nil {
		return math.NaN()
	}
	if v.Syscalls == nil && noRound(v, v.Missing["syscalls"]) {
		ev.early = true
		return math.NaN()
	}
	if v.Syscalls == nil {
		ev.miss("system calls: %s", cmp.Or(report.Reason(v.Missing["syscalls"]), "they were not counted"))
		return math.NaN()
	}
	sum := 0.0
	for _, c := range calls {
		sum += v.Syscalls[c]
	}
	return sum
}

// System calls that look a path up and that make a directory, by their names on
// different architectures.
var (
	statCalls  = []string{"stat", "lstat", "newfstatat", "statx"}
	mkdirCalls = []string{"mkdir", "mkdirat"}
)

// medianOf returns the median of x with its interval.
func medianOf(x []float64) run.Estimate {
	e := stats.Median(x, 0.95)
	return run.Estimate{Median: e.Value, Lo: e.Lo, Hi: e.Hi, Confidence: e.Confidence, N: e.N}
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

// ops returns the number of operations of a variant's first timed block, or 0 if it has
// no such block.
func (ev *evidence) ops(id, variant string) int64 {
	if r := ev.results[id]; r != nil {
		for i := range r.Blocks {
			if b := &r.Blocks[i]; b.Role == run.RoleTimed && b.Variant == variant {
				return b.Ops
			}
		}
	}
	return 0
}

// fewerOps says so if a variant's blocks had fewer operations than were published.
func (ev *evidence) fewerOps(id, variant string) string {
	if ops := ev.ops(id, variant); ops > 0 && ops < publishedOps {
		return fmt.Sprintf(" Measured with %d operations a block, not %d.", ops, publishedOps)
	}
	return ""
}
