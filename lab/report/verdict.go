package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// Verdict answers the question of a result in one paragraph: for each promise
// the fastest variant, by how much and what it survives; then comparisons
// across promises, where goroutines wait, and the variants that were not judged.
// For surfaces it gives the knees instead.
func Verdict(r *run.Run, res *run.Result) string {
	if len(res.Surfaces) > 0 {
		var parts []string
		for i := range res.Surfaces {
			parts = append(parts, upperFirst(Knee(res, &res.Surfaces[i]))+".")
		}
		return clean(strings.Join(parts, " "))
	}
	if !slices.ContainsFunc(res.Variants, func(v run.VariantResult) bool { return v.Time.N > 0 }) {
		return "Nothing was measured."
	}
	var out []string
	for i := range res.Findings {
		f := &res.Findings[i]
		text := findingText(r, res, f)
		if len(res.Findings) > 1 {
			text = fmt.Sprintf("Promise %s: %s", f.Promise, text)
		}
		out = append(out, text)
	}
	if mixed := mixedText(res); mixed != "" {
		out = append(out, mixed)
	}
	for i := range res.Variants {
		if s := whereText(&res.Variants[i]); s != "" {
			out = append(out, s)
		}
	}
	for i := range res.Variants {
		if s := unjudgedText(&res.Variants[i]); s != "" {
			out = append(out, s)
		}
	}
	return clean(strings.Join(out, " "))
}

// findingText words a finding.
func findingText(r *run.Run, res *run.Result, f *run.Finding) string {
	switch f.Kind {
	case run.FoundNothing:
		return fmt.Sprintf("No verdict without %s, which the others are compared with.", f.Baseline)
	case run.FoundAlone:
		return fmt.Sprintf("%s is the only variant measured with this promise; it %s.", f.Baseline, survives(promiser(res, f)))
	case run.FoundWinner:
		return winnerText(r, res, f)
	case run.FoundBest:
		return fmt.Sprintf("%s is the fastest: %s takes %s its time (%s)%s.",
			f.Fastest, f.Next, times(f.Ratio.Median), intervalText(*f.Ratio), survivesSame(promiser(res, f)))
	}
	var parts []string
	if f.Kind == run.FoundSame {
		parts = append(parts, "no variant is faster than "+f.Baseline)
	} else {
		parts = append(parts, unclearText(res, f))
	}
	for _, name := range f.Same {
		c := comparison(res, name, f.Baseline)
		parts = append(parts, fmt.Sprintf("%s is the same as %s within %s (%s, %s)",
			name, f.Baseline, toleranceText(r, c.Tolerance), times(c.Ratio.Median), intervalText(c.Ratio)))
	}
	if len(f.Slower) > 0 {
		var slower []string
		for _, name := range f.Slower {
			slower = append(slower, ratioText(name, comparison(res, name, f.Baseline).Ratio))
		}
		parts = append(parts, "slower: "+strings.Join(slower, ", "))
	}
	return fmt.Sprintf("%s%s.", upperFirst(strings.Join(parts, "; ")), eachSurvives(promiser(res, f)))
}

func winnerText(r *run.Run, res *run.Result, f *run.Finding) string {
	text := fmt.Sprintf("%s takes %s the time of %s (%s)%s",
		f.Fastest, times(f.Ratio.Median), f.Baseline, intervalText(*f.Ratio), survivesSame(promiser(res, f)))
	if len(f.Same) > 0 {
		text += fmt.Sprintf("; the same as it within %s: %s", toleranceText(r, f.Tolerance), strings.Join(f.Same, ", "))
	}
	if len(f.Unclear) > 0 {
		var names []string
		for _, u := range f.Unclear {
			names = append(names, u.Variant)
		}
		text += fmt.Sprintf("; cannot tell whether it is faster than %s", strings.Join(names, " or "))
	}
	return text + "."
}

// comparison returns the comparison of a variant with the baseline of its
// promise.
func comparison(res *run.Result, variant, baseline string) *run.Comparison {
	for i := range res.Comparisons {
		if c := &res.Comparisons[i]; c.Variant == variant && c.Baseline == baseline && !c.Mixed {
			return c
		}
	}
	return &run.Comparison{Ratio: run.Estimate{Median: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}}
}

// mostRoundsTold is the largest number of rounds that is worth a sentence.
const mostRoundsTold = 400

// unclearText says among which variants there is no verdict, what would have been seen,
// and what would settle it.
func unclearText(res *run.Result, f *run.Finding) string {
	names := []string{f.Baseline}
	var unproven *run.Unclear
	for i := range f.Unclear {
		names = append(names, f.Unclear[i].Variant)
		if f.Unclear[i].Why == run.UnclearUnproven {
			unproven = &f.Unclear[i]
		}
	}
	text := "cannot tell which is fastest of " + listed(names)
	switch {
	case unproven != nil:
		c := comparison(res, unproven.Variant, f.Baseline)
		text += fmt.Sprintf(": the test %s does not confirm the interval of %s, corrected p %s", c.Test, unproven.Variant, pValue(c.PHolm))
	case f.Visible > 0:
		text += ": a difference of " + seenTimes(f.Visible) + " would have been seen"
	default:
		text += ": there are too few rounds for an interval"
	}
	if f.RoundsNeeded > 0 && f.RoundsNeeded <= mostRoundsTold {
		text += fmt.Sprintf(", and %d rounds would probably settle it", f.RoundsNeeded)
	}
	return text
}

// listed names up to three, and counts more.
func listed(names []string) string {
	const most = 3
	switch n := len(names); {
	case n == 1:
		return names[0]
	case n > most:
		return strings.Join(names[:most-1], ", ") + fmt.Sprintf(" and %d more", n-most+1)
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// mixedText marks comparisons across promises.
func mixedText(res *run.Result) string {
	var parts []string
	for i := range res.Comparisons {
		c := &res.Comparisons[i]
		v, base := res.Variant(c.Variant), res.Variant(c.Baseline)
		if c.Mixed && known(c.Ratio.Median) && v != nil && base != nil {
			parts = append(parts, fmt.Sprintf("%s (%s) takes "+mixedMark+"%s the time of %s (%s), %s: %s",
				c.Variant, v.Promise, times(c.Ratio.Median), c.Baseline, base.Promise, intervalText(c.Ratio), c.Verdict))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Across promises, so not like with like: " + strings.Join(parts, "; ") + "."
}

// whereText names the cause that took most of a variant's goroutine time; "" where
// goroutines were not watched.
func whereText(v *run.VariantResult) string {
	if v.Waits == nil || len(v.Waits.Causes) == 0 {
		return ""
	}
	c := &v.Waits.Causes[0]
	return fmt.Sprintf("Goroutines of %s spend most time, %.0f %%, in one state: %s.", v.Name, 100*c.Share.Median, Cause(c.Cause))
}

// unjudgedText says why a variant was not judged, and is empty where it was.
func unjudgedText(v *run.VariantResult) string {
	switch {
	case v.Unsupported && v.Time.N == 0:
		return v.Name + " is not supported here."
	case v.Error != "" && v.Time.N > 0:
		return v.Name + " failed during the run and is not judged."
	case v.Error != "":
		return v.Name + " failed."
	case v.Time.N == 0:
		return v.Name + " was not measured."
	}
	return ""
}

// Knee says where the throughput of a surface stops growing.
func Knee(res *run.Result, s *run.Surface) string {
	if s.Best == "" {
		return clean(fmt.Sprintf("no setting of %s was measured", s.Name))
	}
	at := func(name string) string {
		v := res.Variant(name)
		if v == nil || v.Cell == nil {
			return name
		}
		return fmt.Sprintf("%s (%.0f/s)", cellText(v.Cell), 1e9/v.Time.Median)
	}
	var text string
	switch {
	case s.KneeLo != s.KneeHi:
		text = fmt.Sprintf("knee of %s: between %s and %s; the intervals do not show where", s.Name, at(s.KneeLo), at(s.KneeHi))
	case s.Open:
		text = fmt.Sprintf("no knee of %s up to %s: throughput still grows there", s.Name, at(s.KneeHi))
	default:
		text = fmt.Sprintf("knee of %s: %s", s.Name, at(s.KneeHi))
	}
	if s.KneeHi != s.Best {
		text += fmt.Sprintf("; the best is %s", at(s.Best))
	}
	return clean(text)
}

// cellText names the place of a cell: "goroutines 8", "in flight 32, threads 2".
func cellText(c *run.Cell) string {
	s := fmt.Sprintf("%s %d", c.XName, c.X)
	if c.YName != "" {
		s += fmt.Sprintf(", %s %d", c.YName, c.Y)
	}
	return s
}

func ratioText(name string, ratio run.Estimate) string {
	return fmt.Sprintf("%s (%s, %s)", name, times(ratio.Median), intervalText(ratio))
}

func intervalText(e run.Estimate) string {
	if !hasInterval(e) {
		return "too few rounds for an interval"
	}
	return fmt.Sprintf("%.0f %% interval %s to %s", 100*e.Confidence, factor(e.Lo), factor(e.Hi))
}

func toleranceText(r *run.Run, tolerance float64) string {
	if tolerance > r.Settings.Tolerance {
		return percent(tolerance) + ", this run's noise"
	}
	return percent(tolerance)
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
