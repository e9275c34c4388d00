package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"github.com/stele-go/stele/lab/run"
)

// An overview is the picture at the head of the page: the ratios of all ways of all
// experiments on one axis.
type overview struct {
	Rows []overviewRow
	Axis template.HTML
}

// An overviewRow is one outcome: an experiment in one place, for one promise.
type overviewRow struct {
	Anchor, Label, Place string
	Level, Survives      string // of the promise
	Word, Class          string // the verdict
	Way, Much, Speed     string
	Key                  *key // of the way that won
	Lanes                []lane
	More                 int // ways that are not drawn
	Picture              template.HTML
}

// A lane is one way in an overviewRow. Its label lies over the picture, beside the
// interval: as text of the page it is cut with an ellipsis where there is no room.
type lane struct {
	Name, Speed string
	Best        bool
	Place       template.CSS
}

const (
	laneHeight = 19.0
	// laneSide is the part of the plot beyond which a label stands left of its interval.
	laneSide = 0.5
	// mostLanes is how many ways of an experiment are drawn; of more the fastest are.
	mostLanes = 12
)

// newOverview returns nil where the run has nothing but results behind claims.
func newOverview(r *run.Run, anchors map[*run.Result]string) *overview {
	s := r.Summary()
	lines := slices.DeleteFunc(summaryLines(r, s), func(l summaryLine) bool { return forClaim(r, l.Result) })
	if len(lines) == 0 {
		return nil
	}
	var all []float64
	for _, l := range lines {
		for _, c := range rowComparisons(l) {
			all = append(all, finite([]float64{c.Ratio.Median, c.Ratio.Lo, c.Ratio.Hi})...)
		}
	}
	o := &overview{}
	scale := forestScale(all)
	if len(all) > 0 {
		o.Axis = axisPicture(scale, axisRatio)
	}
	for _, l := range lines {
		row := overviewRow{
			Anchor: anchors[l.Result], Label: l.Label, Level: levelClass(l.Row.Promise), Survives: rowSurvives(l),
			Way: l.Way, Much: l.Much, Speed: l.Speed,
		}
		if len(r.Places) > 1 {
			row.Place = clean(l.Row.Place)
		}
		row.Word, row.Class = outcomeBadge(l)
		if row.Word == run.CannotTell {
			row.Speed = "" // of which way?
		}
		if i := slices.IndexFunc(l.Result.Variants, func(v run.VariantResult) bool { return v.Name == l.Row.Way }); i >= 0 && l.Row.Ratio != nil {
			row.Key = &key{i}
		}
		if l.Row.Kind != run.FoundKnee {
			row.draw(l, scale)
		}
		o.Rows = append(o.Rows, row)
	}
	return o
}

// rowSurvives is what the ways of a row survive where they were measured.
func rowSurvives(l summaryLine) string {
	if v := l.Result.Variant(l.Row.Way); v != nil {
		return clean(survives(v))
	}
	return clean(l.Row.Promise.Survives())
}

// outcomeBadge is the outcome of a row in a word or two.
func outcomeBadge(l summaryLine) (word, class string) {
	switch l.Row.Kind {
	case run.FoundWinner:
		return run.Faster, verdictClass(run.Faster)
	case run.FoundBest:
		return "baseline is fastest", verdictClass(run.Same)
	case run.FoundSame:
		return run.Same, verdictClass(run.Same)
	case run.FoundAlone:
		return l.Much, ""
	case run.FoundKnee:
		return "knee", ""
	case run.FoundNothing:
		return "not measured", verdictClass("failed")
	}
	return run.CannotTell, verdictClass(run.CannotTell)
}

// rowComparisons are the comparisons among the variants of a row's promise.
func rowComparisons(l summaryLine) []*run.Comparison {
	var out []*run.Comparison
	for i := range l.Result.Comparisons {
		c := &l.Result.Comparisons[i]
		if v := l.Result.Variant(c.Variant); !c.Mixed && v != nil && v.Promise == l.Row.Promise && ratioKnown(c) {
			out = append(out, c)
		}
	}
	return out
}

// draw makes a lane for the baseline and for each way that was compared with it.
func (row *overviewRow) draw(l summaryLine, s scale) {
	comparisons := rowComparisons(l)
	if len(comparisons) == 0 {
		return
	}
	if row.More = len(comparisons) + 1 - mostLanes; row.More > 0 {
		slices.SortStableFunc(comparisons, func(a, b *run.Comparison) int { return cmp.Compare(a.Ratio.Median, b.Ratio.Median) })
		comparisons = comparisons[:mostLanes-1]
	}
	height := laneHeight*float64(len(comparisons)+1) + 4
	p := newPicture("plot lanes", height, fmt.Sprintf("%s: ratios to %s", l.Label, comparisons[0].Baseline), "")
	lo, hi := band(l.Row.Tolerance)
	p.rect("band", s.at(lo), s.at(hi), 0, height)
	p.xAxis(s, 0, height, 5, nil)
	p.vline("one", s.at(1), 0, height)
	y := 2 + laneHeight/2
	for i := range l.Result.Variants {
		v := &l.Result.Variants[i]
		e := run.Estimate{Median: 1, Lo: 1, Hi: 1}
		at := slices.IndexFunc(comparisons, func(c *run.Comparison) bool { return c.Variant == v.Name })
		base := v.Name == comparisons[0].Baseline
		switch {
		case at >= 0:
			e = comparisons[at].Ratio
		case !base:
			continue
		}
		row.lane(p, l, i, e, base, y, s)
		y += laneHeight
	}
	row.Picture = p.done()
}

// lane draws the ratio of the variant i with its interval, and places its label.
func (row *overviewRow) lane(p *picture, l summaryLine, i int, e run.Estimate, base bool, y float64, s scale) {
	v := &l.Result.Variants[i]
	class := key{i}.Class()
	left, right := s.at(e.Median), s.at(e.Median)
	if hasInterval(e) && !base {
		left, right = s.at(e.Lo), s.at(e.Hi)
		p.hline("whisker "+class, left, right, y)
	}
	tip := fmt.Sprintf("%s: %s", v.Name, Ratio(e))
	dot := "point " + class
	if base {
		tip, dot = v.Name+": the baseline", "base "+class
	}
	p.dot(dot, s.at(e.Median), y, 4.5, tip)
	place := fmt.Sprintf("top:%spx;", num(y-laneHeight/2))
	if right <= laneSide || 1-right > left {
		place += fmt.Sprintf("left:calc(%s + 9px);right:0", pct(right))
	} else {
		place += fmt.Sprintf("left:0;right:calc(100%% - %s + 9px);justify-content:flex-end", pct(left))
	}
	out := lane{Name: clean(v.Name), Best: v.Name == l.Row.Way && l.Row.Ratio != nil, Place: template.CSS(place)}
	if v.Time.N > 0 && known(v.Time.Median) {
		out.Speed = speed(l.Result, v)
	}
	row.Lanes = append(row.Lanes, out)
}
