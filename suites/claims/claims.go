// Package claims puts published statements about file I/O to the test. A claim has
// experiments, as described and as meant, and a rule that turns their results into a
// verdict.
//
// The statements come from a series of five reports. The first letter of an ID names the
// report: D, making directories (000); C, creating files (001); R, reading and writing
// (002); H, writing at the head of a file (003); L, a log system (004). Claim.Source has
// section and sentence, and README.md lists all claims. The file of an ID, such as d1.go,
// has the claim's experiments, its ways of doing the job and its rule.
//
// # Mistakes to avoid
//
//   - Quoting a verdict without its place: the next disk may refute it.
//   - Judging before every experiment of the claim has run in every place.
package claims

import (
	"math"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// Verdicts on a claim. CannotTell is noise or too few rounds; with CannotTest something
// that the claim needs is missing.
const (
	Holds       = "holds"
	DoesNotHold = "does not hold"
	Depends     = "depends"
	CannotTell  = run.CannotTell
	CannotTest  = "cannot be tested here"
)

// A Claim is a published statement and the experiments that test it: the workload as
// described and, where that does not do what the report says, as meant.
type Claim struct {
	ID        string // "D1"; never changes
	Statement string // the workload
	Claimed   string // the published figures
	Source    Source
	Promise   string // the durability of the compared ways
	// Experiments must have run in every place before Judge.
	Experiments []lab.Experiment
	// Needs returns what a place lacks for the claim to be tested, or "". If it is nil,
	// every place will do.
	Needs func(run.Environment) string

	// Exactly one of them is set: judge rules on one place, judgeAll on all together.
	judge    func(*evidence) judgement
	judgeAll func([]*evidence) judgement
}

// A judgement is the outcome of a claim's rule: parts, which make the verdict, or the verdict
// itself where the place lacks what the claim needs.
type judgement struct {
	parts                  []part
	measured, verdict, why string
}

// Judge turns results into verdicts: one for each place, or a single one for a claim that
// compares file systems. It ignores results of other experiments. A part whose result is
// missing or failed cannot be tested, and Why names the result.
func (c *Claim) Judge(results []*run.Result, places []run.Place) []run.Claim {
	var all []*evidence
	var names []string
	for _, p := range places {
		all = append(all, c.evidence(results, p))
		names = append(names, p.Name)
	}
	if c.judgeAll != nil {
		return []run.Claim{c.claim(c.judgeAll(all), strings.Join(names, ", "), all...)}
	}
	var claims []run.Claim
	for _, ev := range all {
		claims = append(claims, c.claim(c.judgePlace(ev), ev.place.Name, ev))
	}
	return claims
}

// evidence collects the results of the claim's experiments in a place.
func (c *Claim) evidence(results []*run.Result, p run.Place) *evidence {
	ev := &evidence{place: p, results: map[string]*run.Result{}}
	for _, r := range results {
		if r.Place == p.Name && c.experiment(r.ID) {
			ev.results[r.ID] = r
		}
	}
	return ev
}

// judgePlace applies the claim's rule where the place has what the claim needs.
func (c *Claim) judgePlace(ev *evidence) judgement {
	if c.Needs != nil {
		if lack := c.Needs(ev.place.Environment); lack != "" {
			return judgement{verdict: CannotTest, why: lack}
		}
	}
	return c.judge(ev)
}

func (c *Claim) experiment(id string) bool {
	return slices.ContainsFunc(c.Experiments, func(e lab.Experiment) bool { return e.ID() == id })
}

// claim returns the verdict on the claim: that of its parts, or CannotTest where a rule
// without parts asked for a result that is missing.
func (c *Claim) claim(j judgement, place string, all ...*evidence) run.Claim {
	if j.verdict == "" {
		j = j.ofParts(all)
	}
	out := run.Claim{
		ID: c.ID, Statement: c.Statement, Claimed: c.Claimed, Source: c.Source.String(), Promise: c.Promise, Place: place,
		Measured: j.measured, Verdict: j.verdict, Why: j.why, Parts: claimParts(j.parts),
	}
	for _, e := range c.Experiments {
		id := e.ID()
		if slices.ContainsFunc(all, func(ev *evidence) bool { return ev.results[id] != nil }) {
			out.Results = append(out.Results, id)
		}
	}
	if missing := missingOf(all); missing != "" && len(j.parts) == 0 {
		// A rule that was given NaN has measured nothing.
		out.Measured, out.Verdict, out.Why = notEnough, CannotTest, missing
	}
	return out
}

// notEnough is what was measured where nothing was.
const notEnough = "not enough to judge"

// missingOf returns what rules asked for and did not find, or "".
func missingOf(all []*evidence) string {
	var missing []string
	for _, ev := range all {
		missing = append(missing, ev.missing...)
	}
	if len(missing) == 0 {
		return ""
	}
	return "missing: " + joined(missing)
}

// ofParts returns the judgement with the verdict that its parts make, and what was measured
// part by part.
func (j judgement) ofParts(all []*evidence) judgement {
	missing := missingOf(all)
	early := slices.ContainsFunc(all, func(ev *evidence) bool { return ev.early })
	for i := range j.parts {
		p := &j.parts[i]
		switch {
		case p.answer != untested || p.lacks != "":
		case missing != "":
			p.lacks = missing
		case early: // the time was up, or the run was ended: too few rounds are not a lack
			p.answer = cannotTell
			if p.est.N == 0 && !math.IsNaN(p.est.Lo) { // a fact
				p.open = "no round was measured"
			}
		}
	}
	for i := range j.parts {
		if p := &j.parts[i]; strings.Contains(p.figure, "NaN") {
			p.figure = "" // it is made of what is missing
		}
	}
	var lines []string
	for _, p := range j.parts {
		if p.figure != "" {
			lines = append(lines, upperFirst(p.answered())+".")
		}
	}
	if j.measured = strings.Join(lines, " "); j.measured == "" {
		j.measured = notEnough
	}
	verdict, reason := verdictOf(j.parts)
	if reason != "" {
		reason += ". "
	}
	j.verdict, j.why = verdict, strings.TrimSpace(reason+j.why)
	return j
}
