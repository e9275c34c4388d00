package run

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stele-go/stele/durability"
)

// sentence answers the experiment's question: for each promise which way is
// fastest, by how much and what it survives; then what was compared across
// promises, and what could not be judged.
func (res *Result) sentence(r *Run) string {
	if !slices.ContainsFunc(res.Variants, func(v VariantResult) bool { return v.Time.N > 0 }) {
		return "Nothing was measured."
	}
	var promises []durability.Promise
	seen := map[durability.Promise]bool{}
	for i := range res.Variants {
		if p := res.Variants[i].Promise; !seen[p] {
			seen[p] = true
			promises = append(promises, p)
		}
	}
	var out []string
	for _, p := range promises {
		text := res.groupSentence(r, p)
		if len(promises) > 1 {
			text = fmt.Sprintf("Promise %s: %s", p, text)
		}
		out = append(out, text)
	}
	if mixed := res.mixedSentence(); mixed != "" {
		out = append(out, mixed)
	}
	for i := range res.Variants {
		if s := res.Variants[i].whereSentence(); s != "" {
			out = append(out, s)
		}
	}
	for i := range res.Variants {
		switch v := &res.Variants[i]; {
		case v.Unsupported && v.Time.N == 0:
			out = append(out, v.Name+" cannot be done here.")
		case v.Error != "" && v.Time.N > 0:
			out = append(out, v.Name+" failed in the middle and is not judged.")
		case v.Error != "":
			out = append(out, v.Name+" failed.")
		case v.Time.N == 0:
			out = append(out, v.Name+" was not measured.")
		}
	}
	return strings.Join(out, " ")
}

// whereSentence names the cause that took most of a variant's goroutine time;
// "" where none was watched.
func (v *VariantResult) whereSentence() string {
	if v.Waits == nil || len(v.Waits.Causes) == 0 {
		return ""
	}
	c := &v.Waits.Causes[0]
	return fmt.Sprintf("Where goroutines of %s are most, %.0f %% of their time: %s.", v.Name, 100*c.Share.Median, c.Cause)
}

// groupSentence speaks of the variants of one promise.
func (res *Result) groupSentence(r *Run, p durability.Promise) string {
	var base *VariantResult
	var faster, slower, same, unclear []*Comparison
	for i := range res.Variants {
		if res.Variants[i].Promise == p {
			base = res.baselineFor(&res.Variants[i])
			break
		}
	}
	if !base.judged() {
		return fmt.Sprintf("No verdict without %s, which the others are compared with.", base.Name)
	}
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
			same = append(same, c)
		default:
			unclear = append(unclear, c)
		}
	}
	switch {
	case len(faster)+len(slower)+len(same)+len(unclear) == 0:
		return fmt.Sprintf("%s is the only way measured with this promise; it %s.", base.Name, p.Level.Survives())
	case len(faster) > 0:
		return res.winner(r, leastRatio(faster), p)
	case len(same)+len(unclear) == 0:
		next := leastRatio(slower)
		return fmt.Sprintf("%s is the fastest: %s takes %s its time (%s) and %s.",
			base.Name, next.Variant, times(next.Ratio.Median), interval(next.Ratio), survivesSame(p.Level))
	}
	var parts []string
	if len(unclear) == 0 {
		parts = append(parts, "none is faster than "+base.Name)
	} else {
		parts = append(parts, "cannot tell which is fastest")
	}
	for _, c := range same {
		parts = append(parts, fmt.Sprintf("%s is the same as %s within %s (%s, %s)",
			c.Variant, base.Name, c.tolerance(r), times(c.Ratio.Median), interval(c.Ratio)))
	}
	parts = append(parts, doubts(r, base.Name, unclear)...)
	if len(slower) > 0 {
		parts = append(parts, "slower: "+list(slower))
	}
	text := strings.Join(parts, "; ")
	return fmt.Sprintf("%s%s; each %s.", strings.ToUpper(text[:1]), text[1:], p.Level.Survives())
}

// winner names the fastest variant. The comparisons say only how each does
// against the baseline, so the others are held against the winner here, by
// the same interval, before it is called fastest.
func (res *Result) winner(r *Run, best *Comparison, p durability.Promise) string {
	text := fmt.Sprintf("%s takes %s the time of %s (%s) and %s",
		best.Variant, times(best.Ratio.Median), best.Baseline, interval(best.Ratio), survivesSame(p.Level))
	var same, unclear []string
	fastest := res.times(best.Variant, RoleTimed)
	for i := range res.Variants {
		v := &res.Variants[i]
		if v.Promise != p || v.Name == best.Variant || v.Name == best.Baseline || !v.judged() {
			continue
		}
		ratio := res.ratio(r, v.Name, res.times(v.Name, RoleTimed), best.Variant, fastest)
		switch within(ratio, best.Tolerance) {
		case Slower:
		case Same:
			same = append(same, v.Name)
		default:
			unclear = append(unclear, v.Name)
		}
	}
	if len(same) > 0 {
		text += fmt.Sprintf("; the same as it within %s: %s", best.tolerance(r), strings.Join(same, ", "))
	}
	if len(unclear) > 0 {
		text += fmt.Sprintf("; whether it is faster than %s cannot be told", strings.Join(unclear, " or "))
	}
	return text + "."
}

// mixedSentence marks what was compared although it promises different
// things.
func (res *Result) mixedSentence() string {
	var parts []string
	for i := range res.Comparisons {
		if c := &res.Comparisons[i]; c.Mixed && !math.IsNaN(c.Ratio.Median) {
			parts = append(parts, fmt.Sprintf("%s (%s) takes %s the time of %s (%s), %s: %s",
				c.Variant, res.Variant(c.Variant).Promise, times(c.Ratio.Median),
				c.Baseline, res.Variant(c.Baseline).Promise, interval(c.Ratio), c.Verdict))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Across promises, so not like with like: " + strings.Join(parts, "; ") + "."
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

func list(cs []*Comparison) string {
	var parts []string
	for _, c := range cs {
		parts = append(parts, fmt.Sprintf("%s (%s, %s)", c.Variant, times(c.Ratio.Median), interval(c.Ratio)))
	}
	return strings.Join(parts, ", ")
}

// doubts says what stands in the way of verdicts, one sentence a cause.
func doubts(r *Run, baseline string, unclear []*Comparison) []string {
	var few, wide, unproven []*Comparison
	for _, c := range unclear {
		switch {
		case math.IsNaN(c.Ratio.Lo):
			few = append(few, c)
		case within(c.Ratio, c.Tolerance) == CannotTell:
			wide = append(wide, c)
		default: // the interval would do, the test does not agree
			unproven = append(unproven, c)
		}
	}
	var parts []string
	add := func(cs []*Comparison, format string, args ...any) {
		if len(cs) > 0 {
			parts = append(parts, fmt.Sprintf("against %s %s ", baseline, example(cs))+fmt.Sprintf(format, args...))
		}
	}
	add(few, "shares too few rounds with it for an interval")
	if len(wide) > 0 {
		add(wide, "reaches over the tolerance of %s, and more rounds would narrow it", wide[0].tolerance(r))
	}
	if len(unproven) > 0 {
		add(unproven, "is not confirmed by %s, corrected p %.2g", unproven[0].Test, leastRatio(unproven).PHolm)
	}
	return parts
}

// example shows the comparison that came out fastest, and how many there are
// besides: the table has them all.
func example(cs []*Comparison) string {
	text := list([]*Comparison{leastRatio(cs)})
	if more := len(cs) - 1; more > 0 {
		text += fmt.Sprintf(", as %d more,", more)
	}
	return text
}

func (c *Comparison) tolerance(r *Run) string {
	if c.Tolerance > r.Settings.Tolerance {
		return percent(c.Tolerance) + ", this run's noise"
	}
	return percent(c.Tolerance)
}

// survivesSame says that two variants of one level survive the same, and what.
func survivesSame(l durability.Level) string {
	if what, ok := strings.CutPrefix(l.Survives(), "survives "); ok {
		return "survives the same: " + what
	}
	return l.Survives() + ", like it"
}

func times(ratio float64) string { return figure(ratio) + "x" }

func interval(e Estimate) string {
	if math.IsNaN(e.Lo) || math.IsNaN(e.Hi) {
		return "too few rounds for an interval"
	}
	return fmt.Sprintf("%.0f %% interval %s to %s", 100*e.Confidence, figure(e.Lo), figure(e.Hi))
}

// figure writes a ratio with two decimals, or with two digits where those
// would not show it.
func figure(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 0.095:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.2g", x)
}
