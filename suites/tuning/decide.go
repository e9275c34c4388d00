package tuning

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/stats"
	"github.com/stele-go/stele/profile"
)

// A Decision is the outcome of a Choice in one run.
type Decision struct {
	Field   string // of the Choice
	Default string // of the Choice
	// Taken is the Setting for the profile. It is nil if the default is kept.
	Taken    *Setting
	measured bool // there are figures; otherwise Why says that there are none
	// visible is the smallest difference, as a share, that would have been seen in every
	// figure without a verdict; 0 where one has too few rounds to say.
	visible float64
	// Why is one sentence.
	Why string
	// Figures has all measurements, load by load. Absent has a line for each reason
	// why something could not be measured.
	Figures []profile.Figure
	Absent  []string
	// Later are figures of the work after an operation. They decide nothing.
	Later []profile.Figure
}

// Decide decides the choice from the analysed results of one place. Results of other
// choices are ignored.
//
// A setting other than the default is taken if the lab calls it faster at one
// load at least, and faster, the same or "not slower" at all others. Of several
// such settings, the one with the smallest geometric mean of ratios is taken. Of a
// knee (see run.Surface), the number is taken if the intervals leave only one. In
// all other cases the default is kept: also for "same", for "cannot tell", and if a
// load was not measured.
func (c *Choice) Decide(results []*run.Result) Decision {
	d := Decision{Field: c.Field, Default: c.Default}
	var missing []string
	var unclear []float64
	for _, l := range c.Loads {
		res := resultOf(results, l)
		if res == nil {
			missing = append(missing, l.Name)
			continue
		}
		d.Figures = append(d.Figures, c.figures(l, res)...)
		unclear = append(unclear, unclearIn(res)...)
		d.Later = append(d.Later, c.laterFigures(res)...)
		d.Absent = append(d.Absent, absent(l, res)...)
	}
	if len(unclear) > 0 && slices.Min(unclear) > 0 {
		d.visible = slices.Max(unclear)
	}
	d.measured = len(d.Figures) > 0
	switch {
	case !d.measured && len(d.Absent) > 0:
		d.Why = "it could not be measured"
	case !d.measured:
		d.Why = "not measured"
	case c.knee:
		c.decideKnee(&d, results)
	case len(missing) > 0:
		d.Why = fmt.Sprintf("not measured with %s, so nothing is shown for all loads", strings.Join(missing, "; "))
	default:
		c.decide(&d)
	}
	if d.Taken != nil {
		for i := range d.Figures {
			d.Figures[i].Taken = d.Figures[i].Name == d.Taken.Name
		}
		d.Why += c.laterText(&d)
	}
	return d
}

// laterText says what the setting taken costs later, or "".
func (c *Choice) laterText(d *Decision) string {
	text := d.Taken.Later
	i := slices.IndexFunc(d.Later, func(f profile.Figure) bool { return f.Name == d.Taken.Name })
	if i >= 0 && d.Later[i].RatioLo > 1+notSlowerWithin {
		f := d.Later[i]
		measured := fmt.Sprintf("%s takes %.2fx [%.2f, %.2f] of the time after %s", f.Load, f.Ratio, f.RatioLo, f.RatioHi, c.Settings[0].Name)
		if text != "" {
			measured += ", as " + text
		}
		text = measured
	}
	if text == "" {
		return ""
	}
	return ". Later: " + text
}

// laterFigures returns the figures of Choice.later, with ratios to those of the
// default.
func (c *Choice) laterFigures(res *run.Result) (list []profile.Figure) {
	if c.later == "" {
		return nil
	}
	base := byRound(res, c.Settings[0].Name, c.later)
	for _, v := range res.Variants {
		e, ok := v.Metrics[c.later]
		if !ok || v.Error != "" {
			continue
		}
		f := profile.Figure{For: c.Field, Load: c.laterLoad, Name: v.Name, Unit: "ns", Value: finite(e.Median), Lo: finite(e.Lo), Hi: finite(e.Hi)}
		var is, was []float64
		again := byRound(res, v.Name, c.later)
		for _, round := range slices.Sorted(maps.Keys(again)) {
			if b, ok := base[round]; ok && v.Name != c.Settings[0].Name {
				is, was = append(is, again[round]), append(was, b)
			}
		}
		if len(is) > 0 {
			r := stats.RatioPaired(is, was, 0.95, rand.New(rand.NewPCG(1, 1)), 5_000)
			f.Ratio, f.RatioLo, f.RatioHi = finite(r.Value), finite(r.Lo), finite(r.Hi)
		}
		list = append(list, f)
	}
	return list
}

// byRound returns a metric of the timed blocks of a variant.
func byRound(res *run.Result, variant, metric string) map[int]float64 {
	got := map[int]float64{}
	for i := range res.Blocks {
		b := &res.Blocks[i]
		if x, ok := b.Metrics[metric]; ok && b.Variant == variant && b.Role == run.RoleTimed && b.Error == "" {
			got[b.Round] = x
		}
	}
	return got
}

// Apply stores the decision and its figures in a profile.
func (d *Decision) Apply(p *profile.Profile) {
	if d.Taken != nil {
		d.Taken.set(p)
	}
	p.Figures = append(append(p.Figures, d.Figures...), d.Later...)
}

func resultOf(results []*run.Result, l Load) *run.Result {
	i := slices.IndexFunc(results, func(r *run.Result) bool { return r.ID == l.experiment.ID() })
	if i < 0 {
		return nil
	}
	return results[i]
}

// absent returns which settings could not be measured at a load, and why.
func absent(l Load, res *run.Result) (lines []string) {
	var reasons []string
	names := map[string][]string{}
	for _, v := range res.Variants {
		if v.Error == "" {
			continue
		}
		why := strings.TrimPrefix(v.Error, v.Name+": ")
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], v.Name)
	}
	for _, why := range reasons {
		settings := strings.Join(names[why], " / ")
		if len(names[why]) == len(res.Variants) {
			settings = "nothing"
		}
		lines = append(lines, fmt.Sprintf("%s with %s: %s", settings, l.Name, why))
	}
	return lines
}

func (c *Choice) figures(l Load, res *run.Result) []profile.Figure {
	var list []profile.Figure
	for _, v := range res.Variants {
		if v.Time.N == 0 || v.Error != "" {
			continue
		}
		f := profile.Figure{
			For: c.Field, Load: l.Name, Name: v.Name, Unit: "ns",
			Value: finite(v.Time.Median), Lo: finite(v.Time.Lo), Hi: finite(v.Time.Hi),
		}
		for _, cmp := range res.Comparisons {
			if cmp.Variant == v.Name && !cmp.Mixed {
				f.Ratio, f.RatioLo, f.RatioHi = finite(cmp.Ratio.Median), finite(cmp.Ratio.Lo), finite(cmp.Ratio.Hi)
				f.Verdict = cmp.Verdict
				if f.Verdict == run.CannotTell && cmp.Ratio.Hi <= 1+notSlowerWithin {
					f.Verdict = notSlower
				}
			}
		}
		list = append(list, f)
	}
	return list
}

// unclearIn returns what would have been seen in each comparison without a verdict
// (run.Comparison.Visible).
func unclearIn(res *run.Result) (visible []float64) {
	for _, cmp := range res.Comparisons {
		if !cmp.Mixed && cmp.Verdict == run.CannotTell && !(cmp.Ratio.Hi <= 1+notSlowerWithin) && res.Variant(cmp.Variant).Error == "" {
			visible = append(visible, cmp.Visible)
		}
	}
	return visible
}

// notSlower is the verdict of a figure that is faster or the same: the interval allows
// both, and ends below 1.05.
const notSlower = "not slower"

// notSlowerWithin is the lab's usual tolerance. That of a comparison may be more if the
// noise is.
const notSlowerWithin = 0.05

// finite returns x, or 0 if it is not finite: JSON has no such numbers.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// decide chooses among settings by the figures, which are there for all loads.
func (c *Choice) decide(d *Decision) {
	least, unsure := math.Inf(1), false
	var almost string
	for i := range c.Settings[1:] {
		set := &c.Settings[i+1]
		var faster, against []profile.Figure
		sum, n := 0.0, 0
		for _, f := range d.Figures {
			if f.Name != set.Name {
				continue
			}
			n++
			sum += math.Log(f.Ratio)
			switch f.Verdict {
			case run.Faster:
				faster = append(faster, f)
			case run.Same, notSlower:
			default:
				against = append(against, f)
				unsure = unsure || f.Verdict != run.Slower
			}
		}
		switch {
		case n < len(c.Loads): // it failed, or is unsupported
		case len(faster) > 0 && len(against) == 0 && sum < least:
			least, d.Taken = sum, set
			d.Why = fmt.Sprintf("%s takes %s", set.Name, c.ratios(faster))
			if len(c.Loads) > len(faster) {
				d.Why += ", and is not slower otherwise"
			}
		case len(faster) > 0 && len(against) > 0 && almost == "":
			almost = fmt.Sprintf("%s takes %s, but %s. Where that is not your load, set it yourself", set.Name, c.ratios(faster), c.drawback(against))
		}
	}
	switch {
	case d.Taken != nil:
	case almost != "":
		d.Why = almost
	case unsure:
		d.Why = "cannot tell that another way is faster: there are too few rounds to see a difference"
		if d.visible > 0 {
			d.Why = fmt.Sprintf("cannot tell that another way is faster: a difference of %.1fx would have been seen", 1+d.visible)
		}
	default:
		d.Why = "no other way is faster"
	}
}

// ratios returns, for example, "0.71x [0.66, 0.77] of the time of fdatasync with 1
// appender".
func (c *Choice) ratios(figures []profile.Figure) string {
	var parts []string
	for _, f := range figures {
		parts = append(parts, fmt.Sprintf("%.2fx [%.2f, %.2f] of the time of %s with %s", f.Ratio, f.RatioLo, f.RatioHi, c.Settings[0].Name, f.Load))
	}
	return strings.Join(parts, ", ")
}

// drawback returns the worst figure against a setting.
func (c *Choice) drawback(figures []profile.Figure) string {
	worst := figures[0]
	for _, f := range figures {
		if f.Verdict == run.Slower && (worst.Verdict != run.Slower || f.Ratio > worst.Ratio) {
			worst = f
		}
	}
	if worst.Verdict == run.Slower {
		return c.ratios([]profile.Figure{worst})
	}
	return "with " + worst.Load + " it may be slower"
}

func (c *Choice) decideKnee(d *Decision, results []*run.Result) {
	res := resultOf(results, c.Loads[0])
	if len(res.Surfaces) == 0 || res.Surfaces[0].KneeHi == "" {
		d.Why = "cannot tell"
		return
	}
	s := res.Surfaces[0]
	d.Why = report.Knee(res, &s)
	switch {
	case res.Rounds < lab.MinRounds: // then there are no intervals
		d.Why = fmt.Sprintf("cannot tell from %d rounds", res.Rounds)
	case s.KneeLo == s.KneeHi:
		i := slices.IndexFunc(c.Settings, func(set Setting) bool { return set.Name == s.KneeHi })
		d.Taken = &c.Settings[i]
	}
}
