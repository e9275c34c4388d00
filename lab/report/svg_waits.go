package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// A waitView is where the goroutines of one variant were, on the page.
type waitView struct {
	Key        key // of the variant, so that its legend hides it
	Name, Head string
	Rows       []waitRow
	Picture    template.HTML
	Gaps       []string
	Contention []string
}

func waitViews(res *run.Result) []waitView {
	var out []waitView
	keys := causeKeys(res)
	for _, i := range variantOrder(res) {
		v := &res.Variants[i]
		if v.Waits == nil {
			continue
		}
		view := waitView{Key: key{i}, Name: clean(v.Name), Head: waitHead(v.Waits), Rows: waitRows(v.Waits, keys), Gaps: waitGaps(v.Waits)}
		if len(view.Rows) > 0 {
			view.Picture = waitPicture(v, view.Rows)
		}
		for _, c := range v.Waits.Contention {
			view.Contention = append(view.Contention, contentionLine(c))
		}
		out = append(out, view)
	}
	return out
}

const waitHeight = 190

// waitPicture stacks the causes over the timed part: how many goroutines were
// in each. They lie in the order of their colours, the same in all variants.
func waitPicture(v *run.VariantResult, rows []waitRow) template.HTML {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b waitRow) int { return a.Key.Index - b.Key.Index })
	var stack [][]float64 // the upper edge of each cause
	var base []float64
	for _, r := range rows {
		edge := make([]float64, max(len(base), len(r.over)))
		copy(edge, base)
		for i, x := range r.over {
			edge[i] += x
		}
		stack = append(stack, edge)
		base = edge
	}
	const top = 16.0
	bottom := float64(waitHeight - 22)
	y := zeroLinear(base)
	at := func(x float64) float64 { return bottom - y.at(x)*(bottom-top) }
	var parts []string
	for _, r := range rows {
		parts = append(parts, r.Cause+" "+r.Share)
	}
	p := newPicture("plot waits", waitHeight, fmt.Sprintf("%s (%s): where its goroutines are over a block", v.Name, v.Promise), strings.Join(parts, "; "))
	p.xAxis(scale{0, 1, false}, top, bottom, 4, percent)
	labels := p.yAxis(y, top, bottom, 4, axisCount)
	p.curves(func(c *curves) {
		for i := range rows {
			lower := make([]float64, len(stack[i]))
			if i > 0 {
				copy(lower, stack[i-1])
			}
			c.path(fmt.Sprintf("area c%d", rows[i].Key.Index), stepArea(stack[i], lower, at))
		}
	})
	labels()
	return p.done()
}

// zeroLinear spans 0 to the largest of xs: areas can only be compared on a
// linear axis.
func zeroLinear(xs []float64) scale {
	most := 0.0
	for _, x := range xs {
		most = max(most, x)
	}
	if most == 0 {
		most = 1
	}
	return scale{0, most * 1.06, false}
}

// stepArea outlines what lies between two edges, level over each slice.
func stepArea(upper, lower []float64, at func(float64) float64) string {
	n := float64(len(upper))
	var b strings.Builder
	for i, y := range upper {
		if i == 0 {
			fmt.Fprintf(&b, "M%s %s", num(wide(0)), num(at(y)))
		} else {
			fmt.Fprintf(&b, "V%s", num(at(y)))
		}
		fmt.Fprintf(&b, "H%s", num(wide(float64(i+1)/n)))
	}
	for i := len(lower) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "V%sH%s", num(at(lower[i])), num(wide(float64(i)/n)))
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "Z"
}
