package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// The charts stretch with the page and keep the size of their letters: what
// is a shape or a text stands at a percentage of the width, and what is a
// curve is drawn in an inner picture, plotWide units wide, that is stretched
// without preserving its aspect while its strokes keep their width.

// plotWide is the width of the inner picture.
const plotWide = 1000

// The plot leaves these shares of the width free at both sides, so that a
// dot or a label at an end is not cut off.
const (
	plotLeft  = 0.02
	plotRight = 0.98
)

// A picture is an SVG being written.
type picture struct {
	b      strings.Builder
	height float64
}

// newPicture starts a picture. The title and the description are what a
// screen reader says instead of it.
func newPicture(class string, height float64, title, desc string) *picture {
	p := &picture{height: height}
	fmt.Fprintf(&p.b, `<svg class="%s" role="img" width="100%%" height="%s"><title>%s</title>`, class, num(height), esc(title))
	if desc != "" {
		fmt.Fprintf(&p.b, `<desc>%s</desc>`, esc(desc))
	}
	return p
}

func (p *picture) done() template.HTML {
	return template.HTML(p.b.String() + "</svg>")
}

// esc makes s text or an attribute's value.
func esc(s string) string { return html.EscapeString(clean(s)) }

func num(x float64) string {
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64)
}

// pct is a place along the width; at is 0 to 1 of the plot.
func pct(at float64) string {
	return strconv.FormatFloat(math.Round(1e4*(plotLeft+at*(plotRight-plotLeft)))/100, 'f', -1, 64) + "%"
}

func pctWidth(share float64) string {
	return strconv.FormatFloat(math.Round(1e4*share*(plotRight-plotLeft))/100, 'f', -1, 64) + "%"
}

// wide is the same place in the inner picture.
func wide(at float64) float64 { return plotWide * (plotLeft + at*(plotRight-plotLeft)) }

// vline is an upright line.
func (p *picture) vline(class string, at, y1, y2 float64) {
	x := pct(at)
	fmt.Fprintf(&p.b, `<line class="%s" x1="%s" x2="%s" y1="%s" y2="%s"/>`, class, x, x, num(y1), num(y2))
}

func (p *picture) hline(class string, from, to, y float64) {
	fmt.Fprintf(&p.b, `<line class="%s" x1="%s" x2="%s" y1="%s" y2="%s"/>`, class, pct(from), pct(to), num(y), num(y))
}

func (p *picture) rect(class string, from, to, y, h float64) {
	fmt.Fprintf(&p.b, `<rect class="%s" x="%s" width="%s" y="%s" height="%s"/>`, class, pct(from), pctWidth(max(to-from, 0.002)), num(y), num(h))
}

// text writes s at a place; at the ends of the plot it grows inwards.
func (p *picture) text(class string, at, y float64, s string) {
	fmt.Fprintf(&p.b, `<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`, class, pct(at), num(y), anchorAt(at), esc(s))
}

// anchorAt is which part of a text stands at a place.
func anchorAt(at float64) string {
	switch {
	case at < 0.03:
		return "start"
	case at > 0.97:
		return "end"
	}
	return "middle"
}

// dot draws a circle with a text for the pointer.
func (p *picture) dot(class string, at, y, r float64, tip string) {
	fmt.Fprintf(&p.b, `<circle class="%s" cx="%s" cy="%s" r="%s">`, class, pct(at), num(y), num(r))
	if tip != "" {
		fmt.Fprintf(&p.b, `<title>%s</title>`, esc(tip))
	}
	p.b.WriteString(`</circle>`)
}

// curves draws the inner, stretched picture.
func (p *picture) curves(draw func(c *curves)) {
	c := &curves{b: &p.b}
	fmt.Fprintf(&p.b, `<svg width="100%%" height="%s" viewBox="0 0 %d %s" preserveAspectRatio="none">`, num(p.height), plotWide, num(p.height))
	draw(c)
	p.b.WriteString(`</svg>`)
}

type curves struct{ b *strings.Builder }

// path draws d, which wide and the plot's y values are written into.
func (c *curves) path(class, d string) {
	if d != "" {
		fmt.Fprintf(c.b, `<path class="%s" d="%s"/>`, class, d)
	}
}

// A scale maps values to 0..1.
type scale struct {
	lo, hi float64
	log    bool
}

// logFrom is how many times the smallest value the largest must be for a
// logarithmic axis.
const logFrom = 12

// newScale spans all finite values of xs with a little room; it turns
// logarithmic by itself where they span orders of magnitude.
func newScale(xs []float64) scale {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range xs {
		if known(x) {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	if lo > hi {
		return scale{0, 1, false}
	}
	if lo > 0 && hi/lo > logFrom {
		return logScale(lo, hi)
	}
	room := (hi - lo) * 0.06
	if room == 0 {
		room = max(math.Abs(lo)*0.05, 0.5)
	}
	if lo >= 0 && lo-room < 0 {
		return scale{0, hi + room, false}
	}
	return scale{lo - room, hi + room, false}
}

// zeroScale starts at 0.
func zeroScale(xs []float64) scale {
	s := newScale(xs)
	if s.log {
		return s
	}
	return scale{min(0, s.lo), s.hi, false}
}

func logScale(lo, hi float64) scale {
	room := math.Pow(hi/lo, 0.04)
	if room <= 1.01 {
		room = 1.1
	}
	return scale{lo / room, hi * room, true}
}

// roomLeft makes room at the left end for the labels of the levels.
func (s scale) roomLeft() scale {
	const share = 0.07
	if s.log {
		s.lo /= math.Pow(s.hi/s.lo, share)
	} else {
		s.lo -= (s.hi - s.lo) * share
	}
	return s
}

// at is where x stands, held within 0..1.
func (s scale) at(x float64) float64 {
	var a float64
	if s.log {
		if x <= 0 {
			return 0
		}
		a = math.Log(x/s.lo) / math.Log(s.hi/s.lo)
	} else {
		a = (x - s.lo) / (s.hi - s.lo)
	}
	return min(max(a, 0), 1)
}

// ticks are about n round values on the scale.
func (s scale) ticks(n int) []float64 {
	if s.log {
		for _, steps := range [][]float64{{1, 1.5, 2, 3, 4, 5, 7}, {1, 2, 5}, {1, 3}, {1}} {
			if t := s.logTicks(steps, 1); len(t) <= n+1 && len(t) >= 2 {
				return t
			}
		}
		decades := math.Log10(s.hi / s.lo)
		if decades > 1 {
			return s.logTicks([]float64{1}, int(math.Ceil(decades/float64(n))))
		}
	}
	raw := (s.hi - s.lo) / float64(n)
	step := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, f := range []float64{1, 2, 5, 10} {
		if f*step >= raw {
			step *= f
			break
		}
	}
	var out []float64
	for i := math.Ceil(s.lo / step); i*step <= s.hi*(1+1e-12); i++ {
		out = append(out, i*step+0) // + 0 makes -0 a 0
	}
	return out
}

func (s scale) logTicks(steps []float64, every int) []float64 {
	var out []float64
	for e := int(math.Floor(math.Log10(s.lo))); e <= int(math.Ceil(math.Log10(s.hi))); e++ {
		if e%every != 0 {
			continue
		}
		for _, f := range steps {
			if x := f * math.Pow(10, float64(e)); x >= s.lo && x <= s.hi {
				out = append(out, x)
			}
		}
	}
	return out
}

// yAxis draws level lines. Their labels come after the curves, over the left
// end of the plot, so that no curve runs through a figure.
func (p *picture) yAxis(s scale, top, bottom float64, n int, label func(float64) string) (labels func()) {
	for _, t := range s.ticks(n) {
		y := num(bottom - s.at(t)*(bottom-top))
		fmt.Fprintf(&p.b, `<line class="grid" x1="0" x2="100%%" y1="%s" y2="%s"/>`, y, y)
	}
	return func() {
		for _, t := range s.ticks(n) {
			fmt.Fprintf(&p.b, `<text class="tick" x="0" y="%s">%s</text>`, num(bottom-s.at(t)*(bottom-top)-3), esc(label(t)))
		}
	}
}

// xAxis draws upright lines from top to bottom and labels below them.
func (p *picture) xAxis(s scale, top, bottom float64, n int, label func(float64) string) {
	for _, t := range s.ticks(n) {
		p.vline("grid", s.at(t), top, bottom)
	}
	if label != nil {
		p.tickLabels(s, n, bottom+15, label)
	}
}

// The narrowest plot is about 200 pixels wide, and a letter of a label 7.
const (
	leastPlot   = 200.0
	letterWidth = 7.0
)

// tickLabels writes the labels of an axis, and leaves out one that would touch the one
// before it on the narrowest screen.
func (p *picture) tickLabels(s scale, n int, y float64, label func(float64) string) {
	end := math.Inf(-1)
	for _, t := range s.ticks(n) {
		text := label(t)
		wide := letterWidth * float64(len([]rune(text))) / leastPlot
		from := s.at(t) - wide/2
		switch anchorAt(s.at(t)) {
		case "start":
			from = s.at(t)
		case "end":
			from = s.at(t) - wide
		}
		if from < end {
			continue
		}
		end = from + wide
		p.text("tick", s.at(t), y, text)
	}
}

// axisTime writes a tick of a time axis without needless zeros.
func axisTime(ns float64) string {
	number, unit, _ := strings.Cut(duration(ns), " ")
	return trimZeros(number) + " " + unit
}
