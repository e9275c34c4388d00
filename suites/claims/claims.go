// Package claims puts published statements about file I/O to the test: for each the
// experiments, as described and as meant, and the rule that turns their results into a
// verdict.
//
// # Mistakes to avoid
//
//   - Quoting a verdict without its place: one disk holds what another one refutes.
//   - Judging before each experiment of the claim was run in every place.
package claims

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// Verdicts on a claim.
const (
	Holds       = "holds"
	DoesNotHold = "does not hold"
	Depends     = "depends"
	CannotTest  = "cannot be tested here"
)

// A Claim is a published statement and the experiments that test it: the
// workload as described and, where that does not do what is said, as meant.
type Claim struct {
	ID        string // "D1"; never changes
	Statement string // the workload
	Claimed   string // what the report said
	Promise   string // the durability of what is compared
	// Experiments are to be run in every place before Judge.
	Experiments []lab.Experiment
	// Needs says what a place lacks, or "" where the claim can be tested.
	// nil stands for a claim that can be tested everywhere.
	Needs func(run.Environment) string

	// One of the two: verdict judges a place by itself, across all places
	// together.
	verdict func(*found) finding
	across  func([]*found) finding
}

// A finding is what a claim's own rule made of the results.
type finding struct{ measured, verdict, why string }

// Judge turns results into verdicts, one a place, or one over all places for
// a claim that compares file systems. Results of other experiments are
// ignored. Where a needed result is missing or failed, the verdict is
// "cannot be tested here" and Why names it.
func (c *Claim) Judge(results []*run.Result, places []run.Place) []run.Claim {
	var all []*found
	var names []string
	for _, p := range places {
		f := &found{place: p, results: map[string]*run.Result{}}
		for _, r := range results {
			if r.Place == p.Name && c.experiment(r.ID) {
				f.results[r.ID] = r
			}
		}
		all = append(all, f)
		names = append(names, p.Name)
	}
	if c.across != nil {
		g := c.across(all)
		return []run.Claim{c.claim(g, strings.Join(names, ", "), all...)}
	}
	var claims []run.Claim
	for _, f := range all {
		if c.Needs != nil {
			if lack := c.Needs(f.place.Environment); lack != "" {
				claims = append(claims, c.claim(finding{verdict: CannotTest, why: lack}, f.place.Name, f))
				continue
			}
		}
		claims = append(claims, c.claim(c.verdict(f), f.place.Name, f))
	}
	return claims
}

func (c *Claim) experiment(id string) bool {
	return slices.ContainsFunc(c.Experiments, func(e lab.Experiment) bool { return e.ID() == id })
}

func (c *Claim) claim(g finding, place string, all ...*found) run.Claim {
	out := run.Claim{
		ID: c.ID, Statement: c.Statement, Claimed: c.Claimed, Promise: c.Promise, Place: place,
		Measured: g.measured, Verdict: g.verdict, Why: g.why,
	}
	for _, e := range c.Experiments {
		id := e.ID()
		if slices.ContainsFunc(all, func(f *found) bool { return f.results[id] != nil }) {
			out.Results = append(out.Results, id)
		}
	}
	var lacks []string
	for _, f := range all {
		lacks = append(lacks, f.lacks...)
	}
	if len(lacks) > 0 {
		// What the rule made of figures that are not there is no measurement.
		out.Measured, out.Verdict = "not enough to judge", CannotTest
		const most = 3
		if n := len(lacks) - most; n > 0 {
			lacks = append(lacks[:most:most], fmt.Sprintf("and %d more", n))
		}
		out.Why = "missing: " + strings.Join(lacks, "; ")
	}
	return out
}

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

// An answer is what an interval says to a question.
type answer int

const (
	cannotTell answer = iota // part of the interval says yes and part no
	yes
	no
)

// atLeast asks whether a figure is want or more.
func atLeast(e run.Estimate, want float64) answer {
	switch {
	case e.Lo >= want:
		return yes
	case e.Hi < want:
		return no
	}
	return cannotTell // also without an interval: NaN compares false
}

// within asks whether a figure lies from lo to hi.
func within(e run.Estimate, lo, hi float64) answer {
	switch {
	case e.Lo >= lo && e.Hi <= hi:
		return yes
	case e.Hi < lo || e.Lo > hi:
		return no
	}
	return cannotTell
}

// slack is how far below a claimed factor a measured one may lie and still
// bear the claim out: the figures were taken on another machine.
const slack = 0.10

// claimedFactor asks whether a speedup is the claimed one or better.
func claimedFactor(e run.Estimate, claimed float64) answer { return atLeast(e, claimed*(1-slack)) }

// together is yes or no when all answers are, else cannotTell; mixed tells
// whether the reason is that some say yes and some say no.
func together(answers ...answer) (a answer, mixed bool) {
	has := func(x answer) bool { return slices.Contains(answers, x) }
	switch {
	case has(yes) && has(no):
		return cannotTell, true
	case has(cannotTell) || len(answers) == 0:
		return cannotTell, false
	}
	return answers[0], false
}

// tooWide is the reason for CannotTest where an interval decides nothing.
const tooWide = "cannot tell: an interval reaches over the limit, or there are too few rounds for one; ask for more rounds. "

// decide is the verdict on answers that all have to be yes.
func decide(why, on string, answers ...answer) (verdict, reason string) {
	a, mixed := together(answers...)
	switch {
	case mixed:
		return Depends, "on " + on + ". " + why
	case a == yes:
		return Holds, why
	case a == no:
		return DoesNotHold, why
	}
	return CannotTest, tooWide + why
}

func inverse(e run.Estimate) run.Estimate {
	e.Median, e.Lo, e.Hi = 1/e.Median, 1/e.Hi, 1/e.Lo
	return e
}

// quotient of two figures that were not paired: its interval is the widest
// that theirs allow.
func quotient(a, b run.Estimate) run.Estimate {
	return run.Estimate{
		Median: a.Median / b.Median, Lo: a.Lo / b.Hi, Hi: a.Hi / b.Lo,
		Confidence: min(a.Confidence, b.Confidence), N: min(a.N, b.N),
	}
}

// factor writes "1.32x [1.28, 1.37]".
func factor(e run.Estimate) string {
	return fmt.Sprintf("%.2fx %s", e.Median, interval(e, "%.2f"))
}

func interval(e run.Estimate, verb string) string {
	if math.IsNaN(e.Lo) || math.IsNaN(e.Hi) {
		return "[no interval]"
	}
	return fmt.Sprintf("["+verb+", "+verb+"]", e.Lo, e.Hi)
}

// nanos writes a time an operation.
func nanos(e run.Estimate) string {
	if e.Median >= 10_000 {
		return fmt.Sprintf("%.1f us", e.Median/1000)
	}
	return fmt.Sprintf("%.0f ns", e.Median)
}

// lasting writes a time that may be many milliseconds.
func lasting(e run.Estimate) string {
	if e.Median >= 1e6 {
		return fmt.Sprintf("%.1f ms", e.Median/1e6)
	}
	return nanos(e)
}
