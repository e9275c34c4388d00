// Package claims puts published statements about file I/O to the test: for each the
// experiments, as described and as meant, and the rule that turns their results into a
// verdict.
//
// The statements come from five reports of a series, on which the first letter of an ID
// depends: D, making directories (report 000); C, creating files (001); R, reading and
// writing (002); H, writing at the head of a file (003); L, a log system (004). Claim.Source
// has section and sentence, and README.md lists all claims. Each is in the file of its ID:
// d1.go has its experiments, its ways of doing the job and its judgement.
//
// # Mistakes to avoid
//
//   - Quoting a verdict without its place: one disk holds what another one refutes.
//   - Judging before each experiment of the claim was run in every place.
package claims

import (
	"fmt"
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
	Source    Source // where it said so
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
		ID: c.ID, Statement: c.Statement, Claimed: c.Claimed, Source: c.Source.String(), Promise: c.Promise, Place: place,
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
