package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// The plot of one series of a history, in pixels.
const (
	historyLeft   = sheetMargin + 62 // the ticks are left of it
	historyRight  = sheetWidth - sheetMargin - 8
	historyHeight = 96
)

// HistorySVG writes a history as one picture: for each series the runs in their order
// with their intervals, the level between changes, and the changes. The file needs
// nothing else, and suits light and dark pages.
func HistorySVG(w io.Writer, h *run.History) error {
	s := &sheet{y: 16}
	s.paragraph("title", 24, 66, "History: "+historyVerdict(h))
	s.paragraph("muted", 16, 104, historyHead(h)+". A dot is a run, the bar its 95 % interval, the line the level between changes. Less is better.")
	for i := range h.Series {
		s.history(h, &h.Series[i])
	}
	s.y += 8
	s.rule("rule strong")
	for _, line := range historyNotes(h) {
		s.paragraph("small", 15, 126, line)
	}
	s.y += 14
	return s.write(w, historyVerdict(h), historyText(h))
}

// historyText says in words what the picture shows.
func historyText(h *run.History) string {
	var parts []string
	for i := range h.Series {
		s := &h.Series[i]
		for k := range s.Changes {
			parts = append(parts, s.Experiment+", "+s.Variant+": "+changeText(h, s, &s.Changes[k]))
		}
	}
	if len(parts) == 0 {
		return historyHead(h)
	}
	return strings.Join(parts, ". ")
}

// history draws one series.
func (s *sheet) history(h *run.History, series *run.HistorySeries) {
	s.y += 34
	name := series.Experiment + ": " + series.Variant
	if series.Place != "" {
		name += " in " + series.Place
	}
	unit := "time per operation"
	if series.Baseline != "" {
		unit = "time beside " + series.Baseline
	}
	s.text("tier", sheetMargin, s.y, ellipsis(name, 72))
	s.text("small end", sheetWidth-sheetMargin, s.y, ellipsis(unit, 40))
	top := s.y + 12
	var values []float64
	for _, p := range series.Points {
		values = append(values, p.Figure.Median)
	}
	axis := newScale(values)
	y := func(v float64) float64 { return top + historyHeight*(1-axis.at(v)) }
	x := func(point int) float64 {
		share := 0.5
		if n := len(h.Runs); n > 1 {
			share = float64(series.Points[point].Run) / float64(n-1)
		}
		return historyLeft + 8 + share*(historyRight-historyLeft-16)
	}
	for _, t := range axis.ticks(3) {
		s.line("grid", historyLeft, historyRight, y(t), y(t))
		s.text("tick end", historyLeft-6, y(t)+4, historyFigure(series, t))
	}
	levels := series.Levels()
	for i, p := range series.Points {
		if hasInterval(p.Figure) {
			s.line("rule strong", x(i), x(i), y(p.Figure.Lo), y(p.Figure.Hi))
		}
		if i > 0 && levels[i] == levels[i-1] {
			s.line("median", x(i-1), x(i), y(levels[i]), y(levels[i]))
		}
		fmt.Fprintf(&s.b, `<circle class="dot c0" cx="%s" cy="%s" r="3.5"><title>%s</title></circle>`+"\n", num(x(i)), num(y(p.Figure.Median)),
			esc(runLabel(&h.Runs[p.Run])+": "+historyFigure(series, p.Figure.Median)))
	}
	s.y = top + historyHeight + 18
	s.historyChanges(h, series, x, top)
}

// historyChanges draws the changes of a series as upright lines, with their labels in
// lines below the plot.
func (s *sheet) historyChanges(h *run.History, series *run.HistorySeries, x func(int) float64, top float64) {
	for i := range series.Changes {
		c := &series.Changes[i]
		class := "bad"
		if c.Ratio < 1 {
			class = "good"
		}
		at := (x(c.Point-1) + x(c.Point)) / 2
		fmt.Fprintf(&s.b, `<rect style="fill:var(--%s)" x="%s" y="%s" width="2" height="%d"/>`+"\n", class, num(at-1), num(top), historyHeight+4)
		label := "end"
		if at < sheetWidth/2 {
			label = "start"
		}
		fmt.Fprintf(&s.b, `<text class="badge %s" text-anchor="%s" x="%s" y="%s">%s</text>`+"\n", class, label, num(at), num(s.y), esc(changeText(h, series, c)))
		if i+1 < len(series.Changes) {
			s.y += 15
		}
	}
}

func (s *sheet) line(class string, x1, x2, y1, y2 float64) {
	fmt.Fprintf(&s.b, `<line class="%s" x1="%s" x2="%s" y1="%s" y2="%s"/>`+"\n", class, num(x1), num(x2), num(y1), num(y2))
}
