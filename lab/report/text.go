package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// TextOptions say for which terminal Text writes, and how much.
type TextOptions struct {
	Width   int  // columns; 0 is 100
	Color   bool // ANSI colours
	Details bool // every table, warning and note
}

// Text writes the run for a terminal. It ends in a table with the outcome of each
// experiment, in 80 columns at most, and in what to do. Of a run of claims it ends in
// the verdicts on these. Above it is a table for each experiment; with Details all that
// is known about each.
func Text(w io.Writer, r *run.Run, o TextOptions) error {
	if o.Width == 0 {
		o.Width = 100
	}
	b := bufio.NewWriter(w)
	p := &printer{w: b, width: max(o.Width, 40), color: o.Color}
	p.head(r, o.Details)
	for _, g := range grouped(r) {
		switch {
		case o.Details:
			p.group(r, g)
		case !onlyForClaims(r, g) || slices.ContainsFunc(g.Results, hasTrace):
			p.compact(r, g)
		}
	}
	p.doubts(r, o.Details)
	if o.Details {
		p.verdicts(r)
	}
	p.claims(r, o.Details)
	p.summary(r)
	return b.Flush()
}

type printer struct {
	w     *bufio.Writer // keeps the first error until Flush
	width int
	color bool
}

func (p *printer) paint(s style, text string) string {
	if !p.color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

func (p *printer) line(s string) {
	p.w.WriteString(s)
	p.w.WriteByte('\n')
}

func (p *printer) title(s string) {
	p.line("")
	p.line(p.paint(bold, s))
}

// para writes s wrapped: its first line after lead, the others indented by the
// width of lead.
func (p *printer) para(lead string, s style, text string) {
	indent := strings.Repeat(" ", len([]rune(lead)))
	for i, l := range wrap(clean(text), p.width-len([]rune(lead))) {
		if i == 0 {
			p.line(lead + p.paint(s, l))
		} else {
			p.line(indent + p.paint(s, l))
		}
	}
}

func (p *printer) head(r *run.Run, details bool) {
	p.line(p.paint(bold, headline(r)))
	if details {
		p.para("", dim, settingsLine(r))
	} else {
		p.para("", dim, shortSettings(r))
	}
	if r.Partial != nil {
		p.para("PARTIAL RUN: ", red, Partial(r.Partial))
	}
	for _, pl := range r.Places {
		if details {
			p.para("", plain, placeLine(pl))
		} else {
			p.para("", plain, shortPlace(pl))
		}
	}
	p.machines(r)
	for _, d := range placeDoubts(r) {
		text := d.Words(len(r.Places))
		if !details {
			text = firstSentence(text)
		}
		p.para("  ! ", yellow, text)
	}
	for _, n := range Notes(r) {
		p.para("  ! ", yellow, n)
	}
	if !details {
		return
	}
	p.title("What survives a crash")
	for _, pr := range promises(r) {
		p.para(fmt.Sprintf("  %-18s  ", pr), plain, pr.Survives()+duringText(pr))
	}
	for _, c := range capLines(r) {
		p.para("  ! ", yellow, c)
	}
	if anyMixed(r) {
		p.para("  ", yellow, mixedLegend)
	}
}

// machines writes the machine of each place, once where it is the same.
func (p *printer) machines(r *run.Run) {
	var said []string
	for _, pl := range r.Places {
		if m := machineLine(pl); !slices.Contains(said, m) {
			said = append(said, m)
			p.para("", dim, m)
		}
	}
}

func (p *printer) group(r *run.Run, g *group) {
	title := g.Title
	if len(r.Places) > 1 {
		title += " in " + g.Place
	}
	p.title(title)
	first := g.Results[0]
	p.para("", plain, first.Question)
	p.para("", dim, "One operation: "+first.Op+".")
	if len(g.Results) > 1 {
		p.line("")
		p.matrix(g)
	}
	p.heats(g)
	t := &table{
		head: []string{"variant", speedHead(first), "ratio", "verdict", "p (Holm)", "p50", "p99", "allocs/op", "calls/op"},
		left: []bool{true, false, false, true, false, false, false, false, false},
	}
	gp := &gaps{all: len(first.Variants)}
	for _, res := range g.Results {
		point := ""
		if len(g.Results) > 1 {
			point = pointLabel(res)
		}
		t.lines = append(t.lines, resultLines(res, point, gp)...)
	}
	for _, part := range t.dropEmpty().split(p.width, 5) {
		p.line("")
		part.write(p)
	}
	p.line("")
	for _, x := range gp.reasons {
		p.para("  n/a  ", dim, x.Where(gp.all)+": "+x.Reason)
	}
	p.waits(g)
	p.trace(g)
	p.notes(r, g)
}

// A remark is a sentence below a table, with the points that it is about.
type remark struct {
	lead   string
	style  style
	text   string
	points []string
}

// notes writes the remarks below a table. One that several points of a group share
// is written once.
func (p *printer) notes(r *run.Run, g *group) {
	var all []*remark
	for _, res := range g.Results {
		add := func(lead string, s style, text string) {
			if text == "" {
				return
			}
			for _, r := range all {
				if r.lead == lead && r.text == text {
					r.points = append(r.points, pointLabel(res))
					return
				}
			}
			all = append(all, &remark{lead, s, text, []string{pointLabel(res)}})
		}
		add("  !    ", yellow, holmNote(res))
		for _, s := range refusals(res) {
			add("  --   ", dim, s)
		}
		add("  *    ", dim, batchNote(res))
		for _, s := range methodNotes(r, res) {
			add("  ~    ", dim, s)
		}
	}
	// By kind, in the order of the first result.
	for _, lead := range []string{"  !    ", "  --   ", "  *    ", "  ~    "} {
		for _, r := range all {
			if r.lead != lead {
				continue
			}
			prefix := ""
			if len(r.points) < len(g.Results) {
				prefix = strings.Join(r.points, ", ") + ": "
			}
			p.para(r.lead, r.style, prefix+r.text)
		}
	}
}

// resultLines are the rows of one result, those of each promise under a
// heading that says what survives.
func resultLines(res *run.Result, point string, gp *gaps) []line {
	var out []line
	for _, t := range tiers(res) {
		heading := t.Promise.String() + ": " + t.survives()
		if point != "" {
			heading = point + ", " + heading
		}
		out = append(out, line{heading: heading, style: dim})
		for _, r := range t.Rows {
			out = append(out, line{cells: rowCells(res, r, gp)})
			for _, c := range r.Mixed {
				out = append(out, line{cells: []cell{
					{"   " + mixedMark + " to " + clean(c.Baseline), yellow}, {}, {mixedMark + " " + Ratio(c.Ratio), plain},
					{mixedMark + " " + clean(c.Verdict), wordStyle(c.Verdict)}, {holmText(&c), plain}, {}, {}, {}, {}}})
			}
		}
	}
	return out
}

func rowCells(res *run.Result, r row, gp *gaps) []cell {
	v := r.V
	show := func(what string, f figure) cell {
		if f.Why != "" {
			gp.add(what, clean(v.Name), f.Why)
			return cell{f.Text, dim}
		}
		return cell{text: f.Text}
	}
	cells := []cell{{text: "  " + clean(v.Name)}, show(speedHead(res), speedFigure(res, v)), {}, {}, {}}
	word := r.verdictWord(res)
	cells[3] = cell{clean(word), wordStyle(word)}
	if c := r.Comparison; c != nil {
		cells[2] = cell{text: Ratio(c.Ratio)}
		cells[4] = cell{text: holmText(c)}
	}
	return append(cells,
		show("p50", percentileFigure(v, 50)),
		show("p99", tailFigure(v, 99)),
		show("allocs/op", metricFigure(v, run.Metric{Name: allocsPerOp, Unit: "1"})),
		show("calls/op", metricFigure(v, run.Metric{Name: syscallsPerOp, Unit: "1"})))
}

func wordStyle(word string) style {
	switch word {
	case run.Faster:
		return green
	case run.Slower, "failed":
		return red
	case run.Same:
		return blue
	case run.CannotTell:
		return yellow
	}
	return dim
}

// verdictSign is a verdict in one character, for the matrix.
func verdictSign(word string) string {
	switch word {
	case run.Faster:
		return "▼"
	case run.Slower:
		return "▲"
	case run.Same:
		return "="
	}
	return "?"
}

const matrixLegend = "Baselines show their time; the others their ratio to it: ▼ faster, ▲ slower, = same, ? cannot tell."

// matrix shows all points of a group at once, as many beside each other as
// fit.
func (p *printer) matrix(g *group) {
	p.columns(matrixOf(g))
	p.para("", dim, matrixLegend)
}

// columns writes a table, its first column again before each part of the
// others that fits.
func (p *printer) columns(t *table) {
	w := t.widths()
	var cuts []int
	used := w[0]
	for i := 1; i < len(w); i++ {
		if used += columnGap + w[i]; used > p.width && i > 1 {
			cuts = append(cuts, i)
			used = w[0] + columnGap + w[i]
		}
	}
	for i, part := range t.split(p.width, cuts...) {
		if i > 0 {
			p.line("")
		}
		part.write(p)
	}
}

func matrixOf(g *group) *table {
	t := &table{head: []string{""}, left: []bool{true}}
	for _, res := range g.Results {
		t.head = append(t.head, pointLabel(res))
		t.left = append(t.left, false)
	}
	for _, tier := range tiers(g.Results[0]) {
		t.lines = append(t.lines, line{heading: tier.Promise.String(), style: dim})
		for _, first := range tier.Rows {
			cells := []cell{{text: "  " + clean(first.V.Name)}}
			for _, res := range g.Results {
				cells = append(cells, matrixCell(res, first.V.Name))
			}
			t.lines = append(t.lines, line{cells: cells})
		}
	}
	return t
}

func matrixCell(res *run.Result, variant string) cell {
	for _, t := range tiers(res) {
		for _, r := range t.Rows {
			switch {
			case r.V.Name != variant:
			case r.Comparison != nil && !known(r.Comparison.Ratio.Median):
				return cell{notAvailable, dim}
			case r.Comparison != nil:
				c := r.Comparison
				return cell{times(c.Ratio.Median) + " " + verdictSign(c.Verdict), wordStyle(c.Verdict)}
			default:
				return cell{timeFigure(r.V, func(e run.Estimate) string { return duration(e.Median) }).Text, plain}
			}
		}
	}
	return cell{"-", dim}
}

func (p *printer) verdicts(r *run.Run) {
	if len(r.Results) == 0 {
		return
	}
	p.title("Verdict per experiment")
	for _, g := range grouped(r) {
		for _, res := range g.Results {
			p.line("  " + p.paint(bold, verdictLine(r, res)))
			p.para("    ", plain, Verdict(r, res))
		}
	}
}
