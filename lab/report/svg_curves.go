package report

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// A chart is one picture with its title.
type chart struct {
	Title   string
	Note    string
	Picture template.HTML
}

// paramCharts draw for each promise the time of an operation over the
// parameter, one line a variant.
func paramCharts(g *group) []chart {
	xs, labels, log := paramAxis(g)
	s := newScale(xs)
	if log {
		s = logScale(xs[0], xs[len(xs)-1])
	}
	s = s.roomLeft()
	at := make([]float64, len(xs))
	for i, x := range xs {
		at[i] = s.at(x)
	}
	var out []chart
	for _, t := range tiers(g.Results[0]) {
		if c := paramChart(g, t, at, labels); c != nil {
			out = append(out, *c)
		}
	}
	return out
}

// paramChart draws the variants of one promise; nil where none was measured. xs
// are where the points of the parameter stand, from 0 to 1.
func paramChart(g *group, t *tier, xs []float64, labels []string) *chart {
	var all []float64
	times := make([][]run.Estimate, len(t.Rows))
	for i, r := range t.Rows {
		for _, res := range g.Results {
			e := timeAt(res, r.V.Name)
			times[i] = append(times[i], e)
			if e.N > 0 {
				all = append(all, e.Median, e.Lo, e.Hi)
			}
		}
	}
	if len(finite(all)) == 0 {
		return nil
	}
	const top, bottom, height = 16.0, 220.0, 242.0
	y := zeroScale(all)
	at := func(x float64) float64 { return bottom - y.at(x)*(bottom-top) }
	p := newPicture("plot", height, "Time of an operation by parameter, "+t.Promise.String(), strings.Join(labels, ", "))
	yLabels := p.yAxis(y, top, bottom, 5, axisTime)
	for i, x := range xs {
		p.vline("grid", x, top, bottom)
		if len(xs) <= 8 || i%2 == 0 {
			p.text("tick", x, bottom+15, labels[i])
		}
	}
	p.curves(func(c *curves) {
		for i, r := range t.Rows {
			c.path("curve "+key{r.Index}.Class(), polyline(xs, times[i], at))
		}
	})
	for i, r := range t.Rows {
		class := key{r.Index}.Class()
		for j, e := range times[i] {
			if !timed(e) {
				continue
			}
			if hasInterval(e) {
				p.vline("whisker "+class, xs[j], at(e.Hi), at(e.Lo))
			}
			p.dot("point "+class, xs[j], at(e.Median), 3.2, fmt.Sprintf("%s, %s: %s", r.V.Name, labels[j], Time(e)))
		}
	}
	yLabels()
	return &chart{Title: t.Promise.String(), Note: t.survives() + logNote(y), Picture: p.done()}
}

// polyline is the path through the medians, with a gap where nothing was measured.
func polyline(xs []float64, times []run.Estimate, at func(float64) float64) string {
	var d strings.Builder
	pen := "M"
	for i, e := range times {
		if !timed(e) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&d, "%s%s %s", pen, num(wide(xs[i])), num(at(e.Median)))
		pen = "L"
	}
	return d.String()
}

func timed(e run.Estimate) bool { return e.N > 0 && known(e.Median) }

// paramAxis places the points: by value where one parameter is a number,
// else side by side.
func paramAxis(g *group) (xs []float64, labels []string, log bool) {
	numeric := true
	for _, res := range g.Results {
		x := 0.0
		label := pointLabel(res)
		if len(res.Params) != 1 {
			numeric = false
		}
		for _, v := range res.Params {
			n, err := strconv.ParseFloat(v, 64)
			if err != nil {
				numeric = false
			}
			x = n
		}
		xs = append(xs, x)
		labels = append(labels, label)
	}
	for i := 1; i < len(xs); i++ {
		numeric = numeric && xs[i] > xs[i-1]
	}
	if !numeric {
		for i := range xs {
			xs[i] = float64(i)
		}
		return xs, labels, false
	}
	return xs, labels, xs[0] > 0 && xs[len(xs)-1]/xs[0] > 6
}

func timeAt(res *run.Result, variant string) run.Estimate {
	if v := res.Variant(variant); v != nil {
		return v.Time
	}
	return run.Estimate{}
}
