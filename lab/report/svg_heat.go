package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// Marks of cells, the same in the table and in the picture.
const (
	bestMark = "▲"
	kneeMark = "◆"
)

const heatLegend = bestMark + " highest throughput, " + kneeMark + " knee: the cheapest setting that reaches 95 % of it (the smallest product of both, and of equals the upper one); " +
	kneeMark + "? the first and the last cell that it may be, where the intervals do not show which."

// A heat is one surface: a row for each Y and a column for each X.
type heat struct {
	Name, YName, XName string
	Verdict            string
	Xs                 []int
	Rows               []heatRow
}

type heatRow struct {
	Y     int
	Cells []heatCell // one for each X
}

// A heatCell is the figures of one setting.
type heatCell struct {
	V       *run.VariantResult // nil where there is no such setting
	Rate    float64            // operations a second; NaN where nothing was measured
	Latency float64            // nanoseconds; NaN where it is not known
	Mark    string
}

// heats lays out the surfaces of a result.
func heats(res *run.Result) []heat {
	var out []heat
	for _, s := range res.Surfaces {
		h := heat{Name: clean(s.Name), XName: clean(s.XName), YName: clean(s.YName), Verdict: Knee(res, &s)}
		type at struct{ x, y int }
		cells := map[at]*run.VariantResult{}
		var ys []int
		for i := range res.Variants {
			v := &res.Variants[i]
			if v.Cell == nil || v.Cell.Surface != s.Name {
				continue
			}
			cells[at{v.Cell.X, v.Cell.Y}] = v
			h.Xs, ys = append(h.Xs, v.Cell.X), append(ys, v.Cell.Y)
		}
		slices.Sort(h.Xs)
		h.Xs = slices.Compact(h.Xs)
		slices.Sort(ys)
		for _, y := range slices.Compact(ys) {
			row := heatRow{Y: y}
			for _, x := range h.Xs {
				row.Cells = append(row.Cells, newHeatCell(cells[at{x, y}], &s))
			}
			h.Rows = append(h.Rows, row)
		}
		if len(h.Rows) > 0 {
			out = append(out, h)
		}
	}
	return out
}

func newHeatCell(v *run.VariantResult, s *run.Surface) heatCell {
	c := heatCell{V: v, Rate: math.NaN(), Latency: math.NaN()}
	if v == nil || v.Time.N == 0 || !(v.Time.Median > 0) {
		return c
	}
	c.Rate = 1e9 / v.Time.Median
	if name := v.Cell.Latency; name != "" {
		if e, ok := v.Metrics[name]; ok {
			c.Latency = e.Median
		}
	} else {
		for _, p := range v.Latency {
			if p.P == 50 && p.Err() == nil {
				c.Latency = p.NS
			}
		}
	}
	if v.Name == s.Best {
		c.Mark = bestMark
	}
	switch {
	case v.Name == s.KneeLo && s.KneeLo == s.KneeHi:
		c.Mark += kneeMark
	case v.Name == s.KneeLo || v.Name == s.KneeHi:
		c.Mark += kneeMark + "?"
	}
	return c
}

// rate writes operations a second short enough for a cell: "12.3k/s".
func rate(x float64) string {
	switch {
	case !known(x):
		return notAvailable
	case round3(x) >= 1e6:
		return digits(x/1e6) + "M/s"
	case round3(x) >= 1e3:
		return digits(x/1e3) + "k/s"
	}
	return digits(x) + "/s"
}

// text is a cell of a table: "12.3k/s 80.1 us".
func (c *heatCell) text() string {
	if c.V == nil {
		return ""
	}
	s := rate(c.Rate)
	if known(c.Latency) {
		s += " " + duration(c.Latency)
	}
	if c.Mark != "" {
		s += " " + c.Mark
	}
	return s
}

// corner is the head of a table's first column.
func (h *heat) corner() string {
	if h.YName == "" {
		return h.XName
	}
	return h.YName + " \\ " + h.XName
}

// rowName is the head of a row; one without a second setting has none.
func (h *heat) rowName(r *heatRow) string {
	if h.YName == "" {
		return ""
	}
	return fmt.Sprint(r.Y)
}

// heats writes the surfaces of a group, each as a table.
func (p *printer) heats(g *group) {
	shown := false
	for _, res := range g.Results {
		for _, h := range heats(res) {
			p.line("")
			title := h.Name + ", operations a second and median latency"
			if len(g.Results) > 1 {
				title = pointLabel(res) + ": " + title
			}
			p.para("  ", bold, title)
			t := &table{head: []string{"  " + h.corner()}, left: []bool{true}}
			for _, x := range h.Xs {
				t.head, t.left = append(t.head, fmt.Sprint(x)), append(t.left, false)
			}
			for _, r := range h.Rows {
				cells := []cell{{text: "  " + h.rowName(&r)}}
				for i := range r.Cells {
					c := &r.Cells[i]
					s := plain
					if c.Mark != "" {
						s = green
					}
					cells = append(cells, cell{c.text(), s})
				}
				t.lines = append(t.lines, line{cells: cells})
			}
			p.columns(t)
			p.para("  => ", bold, h.Verdict+".")
			shown = true
		}
	}
	if shown {
		p.para("  ", dim, heatLegend)
		p.line("")
	}
}

// heats writes the surfaces of a result, each as a table.
func (m *markdown) heats(res *run.Result) {
	list := heats(res)
	for _, h := range list {
		m.printf("**%s**, operations a second and median latency: %s.\n\n", escapeMarkdown(h.Name), escapeMarkdown(h.Verdict))
		head, align := []string{escapeMarkdown(h.corner())}, []string{"---"}
		for _, x := range h.Xs {
			head, align = append(head, fmt.Sprint(x)), append(align, "---:")
		}
		m.row(head...)
		m.row(align...)
		for _, r := range h.Rows {
			cells := []string{h.rowName(&r)}
			for i := range r.Cells {
				cells = append(cells, escapeMarkdown(r.Cells[i].text()))
			}
			m.row(cells...)
		}
		m.printf("\n")
	}
	if list != nil {
		m.printf("%s\n\n", heatLegend)
	}
}

// A heatView is one surface, drawn.
type heatView struct {
	Name, Verdict string
	Picture       template.HTML
}

func heatViews(res *run.Result) []heatView {
	var out []heatView
	for _, h := range heats(res) {
		out = append(out, heatView{h.Name, h.Verdict, heatPicture(&h)})
	}
	return out
}

const (
	heatRowHeight = 44
	heatGap       = 2    // between rows
	heatLabels    = 0.05 // of the width, left of the cells
	heatSteps     = 10   // shades in the style sheet
)

// heatPicture draws the cells in shades of one colour, the more throughput the
// darker, from none to the best: so two cells of one shade are alike, and a
// small difference does not look large.
func heatPicture(h *heat) template.HTML {
	const top = 36.0 // two lines of labels
	height := top + float64(len(h.Rows)*heatRowHeight) + 4
	best := 0.0
	var said []string
	for _, r := range h.Rows {
		for _, c := range r.Cells {
			if known(c.Rate) {
				best = max(best, c.Rate)
			}
			if c.Mark != "" {
				said = append(said, clean(c.V.Name)+" "+c.text())
			}
		}
	}
	p := newPicture("plot heat", height, h.Name+": throughput by "+h.corner(), h.Verdict+". "+strings.Join(said, "; "))
	wide := (1 - heatLabels) / float64(max(len(h.Xs), 1))
	p.text("tick", 0, 13, h.corner())
	for i, x := range h.Xs {
		p.text("tick", heatLabels+(float64(i)+.5)*wide, 29, fmt.Sprint(x))
	}
	for k := range h.Rows {
		r := &h.Rows[k]
		y := top + float64(k*heatRowHeight)
		p.text("tick", 0, y+heatRowHeight/2+4, h.rowName(r))
		for i := range r.Cells {
			p.heatCell(&r.Cells[i], heatLabels+float64(i)*wide, wide, y, best)
		}
	}
	return p.done()
}

// shade is a step of the style sheet: 0 for nothing, the last for the best.
func shade(rate, best float64) int {
	if !known(rate) || !(best > 0) {
		return 0
	}
	return min(int(rate/best*heatSteps), heatSteps-1)
}

func (p *picture) heatCell(c *heatCell, from, wide, y, best float64) {
	if c.V == nil {
		return
	}
	class := fmt.Sprintf("cell h%d", shade(c.Rate, best))
	if !known(c.Rate) {
		class = "cell unknown"
	}
	if strings.Contains(c.Mark, kneeMark) {
		class += " knee"
	}
	tip := clean(c.V.Name) + ": " + c.text()
	switch {
	case known(c.Rate):
		tip += ", " + Time(c.V.Time) + " an operation"
	case c.V.Error != "":
		tip += ", " + clean(c.V.Error)
	}
	const gap = 0.0015
	fmt.Fprintf(&p.b, `<g><title>%s</title>`, esc(tip))
	p.rect(class, from+gap, from+wide-gap, y, heatRowHeight-heatGap)
	middle := from + wide/2
	first := rate(c.Rate)
	if c.Mark != "" {
		first = c.Mark + " " + first
	}
	p.text("heat-rate", middle, y+18, first)
	if known(c.Latency) {
		p.text("heat-latency", middle, y+34, duration(c.Latency))
	}
	p.b.WriteString(`</g>`)
}
