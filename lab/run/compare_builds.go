package run

import (
	"math"
	"slices"

	"github.com/stele-go/stele/lab/stats"
)

// CompareBuilds judges the program that measured against the other one of its run
// (Against), for a gate, as Compare does two runs. Both ran each variant in the same
// rounds, so a figure is the ratio of a pair of blocks, and every variant is judged by
// itself, baselines too: what the machine did in a round, it did to both. Intervals are
// those of stats.RatioPaired, and of stats.Bootstrap over the rounds for percentiles and
// for figures that may be 0.
//
// A variant that only the other program has, or that promises something else there, is
// Broken unless CompareOptions.Force is set; one that only this program has is noted. A
// run that had no other program is Broken too.
func (r *Run) CompareBuilds(o CompareOptions) *CompareReport {
	c := newComparer(o, r)
	c.report.Paired, c.report.OldRuns, c.report.NewRuns = true, 1, 1
	if r.Against == nil {
		c.problem(Mismatch{Code: MismatchOneBuild})
	}
	if len(c.report.Problems) > 0 {
		return c.finish()
	}
	for _, m := range r.Against.Missing {
		if m.Code == MismatchAdded {
			c.difference(m)
		} else {
			c.mismatch(m)
		}
	}
	if r.Partial != nil {
		c.difference(Mismatch{Code: MismatchPartial, Field: "new", Old: r.Partial.Cause})
	}
	for _, res := range r.Results {
		for i := range res.Variants {
			if v := &res.Variants[i]; !r.Against.lacks(res.ID, v.Name) && !(v.Unsupported && !res.ran(v.Name, RoleAgainst)) {
				c.builds(resultOf{res, r}, v)
			}
		}
	}
	if len(c.report.Rows) == 0 {
		c.problem(Mismatch{Code: MismatchNothing})
	}
	return c.finish()
}

// lacks reports whether the other program does not have a variant.
func (a *Against) lacks(experiment, variant string) bool {
	return slices.ContainsFunc(a.Missing, func(m Mismatch) bool {
		return m.Code == MismatchAdded && m.Experiment == experiment && m.Variant == variant
	})
}

// ran reports whether a variant has blocks of a role.
func (res *Result) ran(variant, role string) bool {
	return slices.ContainsFunc(res.Blocks, func(b Block) bool { return b.Variant == variant && b.Role == role })
}

// builds compares the figures of one variant of both programs, in a row each.
func (c *comparer) builds(res resultOf, v *VariantResult) {
	for _, name := range c.metricNames() {
		m := metricNamed(name)
		row := CompareRow{
			Experiment: res.ID, Place: res.Place, Variant: v.Name, Ratio: Ratio(noEstimate()),
			Metric: m.Name, Unit: m.Unit, Better: m.Better, Tolerance: c.metrics[m.Name],
		}
		was, wasNot := res.source(v.Name, "", m, RoleAgainst)
		is, isNot := res.source(v.Name, "", m, RoleTimed)
		row.Old, row.New = medianOfAll([]source{was}), medianOfAll([]source{is})
		if !row.missing(wasNot, isNot) {
			if e, ratios, why := res.pairedRatio(v.Name, m); why == (Reason{}) {
				row.Ratio = Ratio(estimate(e))
				c.judge(&row, e, ratios)
			} else {
				row.missing(Reason{}, why)
			}
		}
		c.report.Rows = append(c.report.Rows, row)
	}
}

// pairedRatio is the ratio of a figure of a variant in this program to that in the
// other one, over the rounds in which both ran it, with the ratios of these rounds.
func (res resultOf) pairedRatio(name string, m Metric) (e stats.Estimate, ratios []float64, why Reason) {
	rng := res.random(res.run.Seed, "against", name, m.Name)
	if p, ok := percentileNamed(m.Name); ok {
		s, why := res.latencyRatio(res.latencies(name, RoleTimed), res.latencies(name, RoleAgainst), p)
		if why != (Reason{}) {
			return e, nil, why
		}
		return stats.Bootstrap(s, confidence, rng, tailResamples), nil, Reason{}
	}
	is, why := res.figures(name, RoleTimed, m)
	if why != (Reason{}) {
		return e, nil, why
	}
	was, why := res.figures(name, RoleAgainst, m)
	if why != (Reason{}) {
		return e, nil, why
	}
	ratios, why = quotients(is, was)
	if why != (Reason{}) {
		return e, nil, why
	}
	if slices.ContainsFunc(ratios, func(f float64) bool { return f == 0 || math.IsInf(f, 1) }) {
		e = stats.Bootstrap(stats.MedianOf(ratios), confidence, rng, resamples)
	} else {
		e = stats.RatioPaired(ratios, slices.Repeat([]float64{1}, len(ratios)), confidence, rng, resamples)
	}
	if m.Name == MetricSyscalls {
		e.Lo, e.Hi, e.Warning = e.Value, e.Value, nil // counted, not sampled
	}
	return e, ratios, Reason{}
}
