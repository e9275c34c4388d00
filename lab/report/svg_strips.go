package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

// A strip is one variant's row in a chart: its label is text of the page, so
// that it wraps on a narrow screen; the picture is beside or below it.
type strip struct {
	Key     key
	Name    string
	Promise string
	Against string // the baseline, where it is a ratio
	Picture template.HTML
	Value   string
	Word    string // verdict
	Class   string // of the verdict
	Mixed   bool
}

// A stripTier is the strips of one promise, on one axis of their own:
// variants of different promises are not to be compared by eye either.
type stripTier struct {
	Promise  string
	Survives string
	Strips   []strip
	Axis     template.HTML
	Log      bool
}

// A key gives a variant the same colour, and beyond the palette the same
// dashes, in every chart.
type key struct{ Index int }

// paletteSize is the number of colours in the style sheet.
const paletteSize = 8

// Class is for the style sheet: v is the variant, for hiding it; c its colour.
func (k key) Class() string {
	s := fmt.Sprintf("v%d c%d", k.Index, k.Index%paletteSize)
	if k.Index >= paletteSize {
		s += " dashed"
	}
	return s
}

const (
	boxHeight    = 46
	forestHeight = 42
)

// A gauge is the figure that an axis shows: the time of an operation, or operations a
// second where goroutines share them.
type gauge struct {
	of    func(perOp float64) float64
	label func(float64) string // of the axis
	write func(float64) string // of one figure
}

func gaugeOf(res *run.Result) gauge {
	if parallel(res) {
		return gauge{
			of:    func(perOp float64) float64 { return 1e9 / perOp },
			label: func(x float64) string { return axisCount(x) + "/s" },
			write: perSecond,
		}
	}
	return gauge{of: func(perOp float64) float64 { return perOp }, label: axisTime, write: duration}
}

// boxStrips draws every timed block as a dot, the quartiles as a box, the
// median as a line, and its interval as a bar.
func boxStrips(res *run.Result) []stripTier {
	data := timedBlocks(res)
	g := gaugeOf(res)
	var out []stripTier
	for _, t := range drawnTiers(res) {
		st := stripTier{Promise: t.Promise.String(), Survives: t.survives()}
		var all []float64
		for _, r := range t.Rows {
			for _, b := range data[r.V.Name] {
				all = append(all, g.of(b.PerOp()))
			}
			if r.V.Time.N > 0 {
				all = append(all, g.of(r.V.Time.Lo), g.of(r.V.Time.Hi))
			}
		}
		s := newScale(all)
		st.Log = s.log
		for _, r := range t.Rows {
			st.Strips = append(st.Strips, strip{Key: key{r.Index}, Name: clean(r.V.Name), Promise: t.Promise.String(), Value: speedFigure(res, r.V).Text,
				Picture: boxPicture(r.V, data[r.V.Name], s, g, t.Promise.String())})
		}
		st.Axis = axisPicture(s, g.label)
		out = append(out, st)
	}
	return out
}

// drawnTiers are the tiers of a result without the variants that have no data.
func drawnTiers(res *run.Result) []*tier {
	data := timedBlocks(res)
	var out []*tier
	for _, t := range tiers(res) {
		t.Rows = slices.DeleteFunc(t.Rows, func(r row) bool { return len(data[r.V.Name]) == 0 })
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// timedBlocks are the data of each variant, in the order in which they ran.
func timedBlocks(res *run.Result) map[string][]*run.Block {
	out := map[string][]*run.Block{}
	for i := range res.Blocks {
		b := &res.Blocks[i]
		if b.Role == run.RoleTimed && b.Error == "" && b.Ops > 0 && b.Wall > 0 {
			out[b.Variant] = append(out[b.Variant], b)
		}
	}
	return out
}

func boxPicture(v *run.VariantResult, blocks []*run.Block, s scale, g gauge, promise string) template.HTML {
	title := fmt.Sprintf("%s (%s): median %s an operation over %s, %s", v.Name, promise, Time(v.Time), units.Count(len(blocks), "block"), units.Count(len(v.Outliers), "outlier"))
	p := newPicture("plot box", boxHeight, title, "")
	p.xAxis(s, 0, boxHeight, 5, nil)
	at := func(perOp float64) float64 { return s.at(g.of(perOp)) }
	span := func(class string, a, b, y, h float64) { p.rect(class, min(at(a), at(b)), max(at(a), at(b)), y, h) }
	first, third := run.Quartiles(blocks)
	span("iqr", first, third, 7, 28)
	for i, b := range blocks {
		// From the first block at the top to the last at the bottom, so that
		// a drift shows as a slant.
		y := 10 + 22*(float64(i)+.5)/float64(len(blocks))
		class, r, tip := "dot", 2.6, fmt.Sprintf("round %d: %s", b.Round, g.write(g.of(b.PerOp())))
		if slices.Contains(v.Outliers, b.Round) {
			class, r, tip = "dot out", 4, tip+", outlier"
		}
		p.dot(class, at(b.PerOp()), y, r, tip)
	}
	if hasInterval(v.Time) {
		span("ci", v.Time.Lo, v.Time.Hi, 39, 4)
	}
	if known(v.Time.Median) {
		p.vline("median", at(v.Time.Median), 4, 43)
	}
	return p.done()
}

func axisPicture(s scale, label func(float64) string) template.HTML {
	p := newPicture("plot axis", 20, "axis", "")
	for _, t := range s.ticks(5) {
		p.vline("grid", s.at(t), 0, 4)
	}
	p.tickLabels(s, 5, 16, label)
	return p.done()
}

// forestStrips draws each ratio with its interval against the band of the
// tolerance. Comparisons across promises come last, in a tier of their own.
func forestStrips(res *run.Result) []stripTier {
	var out []stripTier
	// Ratios without a finite value have no place on the axis.
	var all []float64
	for _, c := range res.Comparisons {
		if c.Mixed {
			continue
		}
		all = append(all, forestSpan(c)...)
	}
	s := forestScale(all)
	for _, t := range tiers(res) {
		st := stripTier{Promise: t.Promise.String(), Survives: t.survives()}
		for _, r := range t.Rows {
			if ratioKnown(r.Comparison) {
				st.Strips = append(st.Strips, forestStrip(r, *r.Comparison, t.Promise.String(), s))
			}
		}
		if st.Strips != nil {
			st.Axis = axisPicture(s, axisRatio)
			out = append(out, st)
		}
	}
	mixed := stripTier{Promise: mixedMark + " across promises", Survives: "part of the difference is what survives a crash"}
	all = nil
	for _, c := range res.Comparisons {
		if c.Mixed {
			all = append(all, forestSpan(c)...)
		}
	}
	s = forestScale(all)
	for _, t := range tiers(res) {
		for _, r := range t.Rows {
			for _, c := range r.Mixed {
				mixed.Strips = append(mixed.Strips, forestStrip(r, c, t.Promise.String(), s))
			}
		}
	}
	if mixed.Strips != nil {
		mixed.Axis = axisPicture(s, axisRatio)
		out = append(out, mixed)
	}
	return out
}

func axisRatio(x float64) string {
	f := fmt.Sprintf("%.3g", x)
	return f + "x"
}

// band is the range of ratios that the tolerance calls the same, equally far
// from 1 both ways.
func band(tolerance float64) (lo, hi float64) { return 1 / (1 + tolerance), 1 + tolerance }

func forestSpan(c run.Comparison) []float64 {
	lo, hi := band(c.Tolerance)
	return []float64{c.Ratio.Median, c.Ratio.Lo, c.Ratio.Hi, lo, hi}
}

// forestScale is logarithmic, so that twice and half are equally far from 1.
func forestScale(all []float64) scale {
	lo, hi := 1.0, 1.0
	for _, x := range all {
		if known(x) && x > 0 {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	return logScale(min(lo, 0.9), max(hi, 1.1))
}

func forestStrip(r row, c run.Comparison, promise string, s scale) strip {
	lo, hi := band(c.Tolerance)
	p := ""
	if holm := holmText(&c); holm != "" {
		p = "; Holm p " + holm
	}
	title := fmt.Sprintf("%s (%s) to %s: %s, %s%s; tolerance ±%s", r.V.Name, promise, c.Baseline, Ratio(c.Ratio), c.Verdict, p, percent(c.Tolerance))
	st := strip{Key: key{r.Index}, Name: clean(r.V.Name), Promise: promise, Against: clean(c.Baseline), Value: Ratio(c.Ratio), Word: clean(c.Verdict), Class: verdictClass(c.Verdict), Mixed: c.Mixed}
	if c.Mixed {
		st.Name, st.Value, st.Word = mixedMark+" "+st.Name, mixedMark+" "+st.Value, mixedMark+" "+st.Word
		title = mixedMark + " " + title
	}
	pic := newPicture("plot forest", forestHeight, title, "")
	pic.rect("band", s.at(lo), s.at(hi), 0, forestHeight)
	pic.xAxis(s, 0, forestHeight, 5, nil)
	pic.vline("one", s.at(1), 0, forestHeight)
	mid := float64(forestHeight) / 2
	if hasInterval(c.Ratio) {
		pic.hline("whisker", s.at(c.Ratio.Lo), s.at(c.Ratio.Hi), mid)
		pic.vline("whisker", s.at(c.Ratio.Lo), mid-5, mid+5)
		pic.vline("whisker", s.at(c.Ratio.Hi), mid-5, mid+5)
	}
	if known(c.Ratio.Median) {
		pic.dot("ratio", s.at(c.Ratio.Median), mid, 5, "")
	}
	st.Picture = pic.done()
	return st
}

func verdictClass(word string) string {
	switch word {
	case run.Faster, "holds":
		return "good"
	case run.Slower, "does not hold", "failed":
		return "bad"
	case run.Same:
		return "even"
	case run.CannotTell, "depends":
		return "open"
	}
	return "none"
}

// finite keeps the finite numbers, which have a place on an axis.
func finite(xs []float64) []float64 {
	return slices.DeleteFunc(xs, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}
