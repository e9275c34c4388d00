package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// tailPoints bounds the points of one curve: more would be finer than a pixel.
const tailPoints = 160

// A tailCurve is the latencies of one variant, from the fastest operation to the slowest.
type tailCurve struct {
	key    key
	name   string
	points []run.CumulativePoint
	nines  float64 // where the curve ends: one operation in 10^nines
}

// latencyCharts draw for each promise the latency over the percentile. The axis of the
// percentiles is -log10(1-q), on which p90, p99 and p99.9 are equally far apart: the
// tail is as wide as the body.
func latencyCharts(res *run.Result) []chart {
	data := timedBlocks(res)
	var out []chart
	for _, t := range tiers(res) {
		var list []tailCurve
		for _, r := range t.Rows {
			h := run.NewHistogram()
			for _, b := range data[r.V.Name] {
				h.Merge(b.Latency)
			}
			if points := h.Cumulative(); len(points) > 0 {
				n := math.Log10(float64(h.Count()))
				list = append(list, tailCurve{key{r.Index}, r.V.Name, thinTail(points, n), n})
			}
		}
		if c := tailChart(t, list); c != nil {
			out = append(out, *c)
		}
	}
	return out
}

// tailChart draws the curves of one promise; nil without curves.
func tailChart(t *tier, list []tailCurve) *chart {
	if len(list) == 0 {
		return nil
	}
	lo, hi, most := math.Inf(1), 1.0, 1.0
	var names []string
	for _, c := range list {
		lo, hi = min(lo, max(c.points[0].NS, 1)), max(hi, c.points[len(c.points)-1].NS)
		most = max(most, c.nines)
		names = append(names, c.name)
	}
	const top, bottom, height = 16.0, 190.0, 212.0
	x, y := scale{0, most, false}.roomLeft(), logScale(lo, hi)
	at := func(ns float64) float64 { return bottom - y.at(max(ns, 1))*(bottom-top) }
	p := newPicture("plot", height, "Latency by percentile, "+t.Promise.String(),
		"Time of single operations on a logarithmic axis, over the percentile on an axis of log(1-q), for "+strings.Join(names, ", "))
	for _, q := range percentileTicks(most) {
		p.vline("grid", x.at(nines(q)), top, bottom)
		p.text("tick", x.at(nines(q)), bottom+15, fmt.Sprintf("p%v", math.Round(q*1e8)/1e6))
	}
	labels := p.yAxis(y, top, bottom, 4, axisTime)
	p.curves(func(c *curves) {
		for _, cv := range list {
			c.path("curve "+cv.key.Class(), cv.path(x, at))
		}
	})
	labels()
	return &chart{Title: t.Promise.String(), Note: t.Promise.Survives(), Picture: p.done()}
}

// path is a staircase: up to the share Q of a point the operations took its time or less.
func (cv *tailCurve) path(x scale, at func(float64) float64) string {
	var d strings.Builder
	fmt.Fprintf(&d, "M%s %s", num(wide(x.at(0))), num(at(cv.points[0].NS)))
	for _, pt := range cv.points {
		fmt.Fprintf(&d, "V%sH%s", num(at(pt.NS)), num(wide(x.at(min(nines(pt.Q), cv.nines)))))
	}
	return d.String()
}

// nines is how many nines a share has: 1 for 0.9, 3 for 0.999.
func nines(q float64) float64 { return -math.Log10(1 - q) }

// percentileTicks are the labels of the axis: p50, and one for each nine.
func percentileTicks(most float64) []float64 {
	out := []float64{0.5}
	for n := 1.0; n <= most; n++ {
		out = append(out, 1-math.Pow(10, -n))
	}
	return out
}

// thinTail keeps the first and last points and those between that are visibly apart on
// an axis that ends at most.
func thinTail(points []run.CumulativePoint, most float64) []run.CumulativePoint {
	if len(points) <= tailPoints {
		return points
	}
	out := points[:1:1]
	for _, pt := range points[1 : len(points)-1] {
		last := out[len(out)-1]
		if nines(pt.Q)-nines(last.Q) >= most/tailPoints || pt.NS > last.NS*1.05 {
			out = append(out, pt)
		}
	}
	return append(out, points[len(points)-1])
}
