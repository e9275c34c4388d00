package run

import (
	"math"
	"slices"
)

// Kinds of a Finding.
const (
	FoundNothing = "no-baseline" // Baseline has no data, or failed: nothing is judged
	FoundAlone   = "alone"       // Baseline is the only variant with data
	FoundWinner  = "winner"      // Fastest is faster than Baseline by Ratio
	FoundBest    = "baseline"    // Baseline is faster than each other one; Fastest is Baseline, Next comes closest
	FoundSame    = "none-faster" // no variant is faster than Baseline, some are the same
	FoundUnclear = "cannot-tell" // no variant is shown to be faster, and Unclear is not empty
)

// A Finding is the conclusion from the comparisons among the variants of one
// promise.
type Finding struct {
	Promise  Promise `json:"promise"`
	Kind     string  `json:"kind"`     // one of the Found constants
	Baseline string  `json:"baseline"` // that the others are compared with
	Fastest  string  `json:"fastest,omitempty"`
	// Next is the variant that comes closest to Fastest where that is Baseline.
	Next string `json:"next,omitempty"`
	// Ratio is the time of Fastest to that of Baseline, or the time of Next to
	// that of Fastest.
	Ratio *Estimate `json:"ratio,omitempty"`
	// Tolerance is the one that Same was decided with.
	Tolerance float64 `json:"tolerance"`
	// Same are the variants that are the same as Fastest within Tolerance, or as
	// Baseline where there is no Fastest.
	Same []string `json:"same,omitempty"`
	// Slower are the variants shown to be slower than Baseline, where there is
	// no Fastest.
	Slower []string `json:"slower,omitempty"`
	// Unclear are the variants whose comparison shows nothing.
	Unclear []Unclear `json:"unclear,omitempty"`
	// Visible and RoundsNeeded are the largest of those of Unclear: every difference
	// of at least Visible would have been seen. RoundsNeeded is 0 where one of
	// Unclear has 0.
	Visible      float64 `json:"visible,omitempty"`
	RoundsNeeded int     `json:"rounds_needed,omitempty"`
}

// Why a comparison shows nothing: Unclear.Why.
const (
	UnclearFew      = "few-rounds"    // too few rounds in common for an interval
	UnclearWide     = "wide-interval" // the interval reaches over the tolerance
	UnclearUnproven = "test"          // the interval would do, but the test of Settings.Test does not agree
)

// An Unclear is a variant whose comparison with another one shows nothing.
type Unclear struct {
	Variant string `json:"variant"`
	To      string `json:"to"`  // the variant that it was compared with
	Why     string `json:"why"` // one of the Unclear constants
	// Ratio of the time of Variant to that of To.
	Ratio Estimate `json:"ratio"`
	// Visible and RoundsNeeded are as in Comparison.
	Visible      float64 `json:"visible,omitempty"`
	RoundsNeeded int     `json:"rounds_needed,omitempty"`
}

// findings draws a conclusion for each promise, in the order of the variants.
func (res *Result) findings(r *Run) []Finding {
	var out []Finding
	for i := range res.Variants {
		p := res.Variants[i].Promise
		if !slices.ContainsFunc(out, func(f Finding) bool { return f.Promise == p }) {
			f := res.finding(r, res.baselineFor(&res.Variants[i]))
			f.sumUnclear()
			out = append(out, f)
		}
	}
	return out
}

func (res *Result) finding(r *Run, base *VariantResult) Finding {
	f := Finding{Promise: base.Promise, Baseline: base.Name, Tolerance: max(r.Settings.Tolerance, res.floor(base))}
	if !base.judged() {
		f.Kind = FoundNothing
		return f
	}
	var faster, slower []*Comparison
	for i := range res.Comparisons {
		c := &res.Comparisons[i]
		if c.Mixed || c.Baseline != base.Name || !res.Variant(c.Variant).judged() {
			continue
		}
		switch c.Verdict {
		case Faster:
			faster = append(faster, c)
		case Slower:
			slower = append(slower, c)
		case Same:
			f.Same = append(f.Same, c.Variant)
		default:
			f.Unclear = append(f.Unclear, c.unclear())
		}
	}
	switch {
	case len(faster) > 0:
		res.findWinner(r, &f, leastRatio(faster))
	case len(f.Same)+len(f.Unclear) == 0 && len(slower) == 0:
		f.Kind = FoundAlone
	case len(f.Same)+len(f.Unclear) == 0:
		next := leastRatio(slower)
		f.Kind, f.Fastest, f.Next, f.Ratio = FoundBest, base.Name, next.Variant, &next.Ratio
	default:
		f.Kind = FoundSame
		if len(f.Unclear) > 0 {
			f.Kind = FoundUnclear
		}
		for _, c := range slower {
			f.Slower = append(f.Slower, c.Variant)
		}
	}
	return f
}

// findWinner compares the others with the fastest variant, by the same
// interval, before it is called so: the comparisons say only how each does
// against the baseline.
func (res *Result) findWinner(r *Run, f *Finding, best *Comparison) {
	f.Kind, f.Fastest, f.Ratio, f.Tolerance = FoundWinner, best.Variant, &best.Ratio, best.Tolerance
	f.Same, f.Unclear = nil, nil
	fastest := res.times(best.Variant, RoleTimed)
	for i := range res.Variants {
		v := &res.Variants[i]
		if v.Promise != f.Promise || v.Name == best.Variant || v.Name == best.Baseline || !v.judged() {
			continue
		}
		ratio := res.ratio(r, v.Name, res.times(v.Name, RoleTimed), best.Variant, fastest)
		switch within(ratio, best.Tolerance) {
		case Slower:
		case Same:
			f.Same = append(f.Same, v.Name)
		default:
			u := Unclear{Variant: v.Name, To: best.Variant, Why: UnclearWide, Ratio: ratio}
			if math.IsNaN(ratio.Lo) {
				u.Why = UnclearFew
			}
			u.Visible, u.RoundsNeeded = power(ratio, res.times(v.Name, RoleTimed), fastest, best.Tolerance)
			f.Unclear = append(f.Unclear, u)
		}
	}
}

// judged reports whether a variant has data and never failed.
func (v *VariantResult) judged() bool { return v.Error == "" && v.Time.N > 0 }

func leastRatio(cs []*Comparison) *Comparison {
	best := cs[0]
	for _, c := range cs {
		if c.Ratio.Median < best.Ratio.Median {
			best = c
		}
	}
	return best
}
