package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stele-go/stele/lab/run"
)

// summaryWidth is the most columns that the table at the end takes.
const summaryWidth = 80

// summary writes the outcome of each experiment as a table, and what to do. Results that
// were measured for a claim are left out: its verdict is their outcome.
func (p *printer) summary(r *run.Run) {
	s := r.Summary()
	var lines []summaryLine
	for _, l := range summaryLines(r, s) {
		if !forClaim(r, l.Result) {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return
	}
	p.line("")
	t := summaryTable(lines, len(r.Places) > 1)
	t.fit(min(p.width, summaryWidth), 0, 1, 2)
	t.write(p)
	narrow := *p
	narrow.width = min(p.width, summaryWidth)
	if slices.ContainsFunc(lines, func(l summaryLine) bool { return l.Row.Ratio != nil }) {
		narrow.para("", dim, summaryLegend)
	}
	if advice := adviceTexts(r, s); len(advice) > 0 {
		p.line("")
		for _, a := range advice {
			p.para("=> ", bold, a)
		}
	}
}

// summaryTable has a row for each line. Several places stand below their experiment.
func summaryTable(lines []summaryLine, places bool) *table {
	t := &table{
		head: []string{"experiment", "fastest way", "ratio", "a piece", "survives"},
		left: []bool{true, true, true, false, true},
	}
	writes := slices.ContainsFunc(lines, func(l summaryLine) bool { return l.Row.Promise.Writes() })
	last, lastPlace := "", ""
	for _, l := range lines {
		if !writes {
			l.Survives = "" // and the column is left out
		}
		first := l.Label
		if places {
			if first != last {
				t.lines = append(t.lines, line{heading: first})
				lastPlace = ""
			}
			last = first
			first = "  " + clean(l.Row.Place)
			if l.Row.Place == lastPlace {
				first = ""
			}
			lastPlace = l.Row.Place
		} else if first == last {
			first = ""
		} else {
			last = first
		}
		t.lines = append(t.lines, line{cells: []cell{
			{text: first}, {l.Way, bold}, {l.Much, wordStyle(l.Word)}, {text: l.Speed}, {text: l.Survives},
		}})
	}
	return t.dropEmpty()
}

// doubts writes the warnings of the run, each once.
func (p *printer) doubts(r *run.Run, details bool) {
	list := doubts(r)
	if len(list) == 0 {
		return
	}
	p.line("")
	quiet := 0
	for _, d := range list {
		switch {
		case details || d.Grave:
			p.para("  ! ", yellow, d.Sentence(details))
		default:
			quiet++
		}
	}
	if quiet > 0 {
		p.para("  ! ", yellow, noisy(list))
	}
}

// noisy joins the doubts that are not grave into one sentence.
func noisy(list []*doubt) string {
	var parts []string
	for _, d := range list {
		if !d.Grave {
			what, _, _ := strings.Cut(d.Text, ":")
			what, _, _ = strings.Cut(what, ",")
			parts = append(parts, fmt.Sprintf("%s (%s)", what, d.Names(false)))
		}
	}
	return upperFirst(strings.Join(parts, "; ")) + ". --details has more."
}

// compact writes one table for a group: a line for each way, or for several points the
// ratios alone.
func (p *printer) compact(r *run.Run, g *group) {
	first := g.Results[0]
	title := clean(first.ID)
	if len(g.Results) > 1 {
		title = g.Title
	}
	if len(r.Places) > 1 {
		title += " in " + g.Place
	}
	p.line("")
	p.heading(title, clean(first.Question))
	switch {
	case len(first.Surfaces) > 0:
		for _, res := range g.Results {
			p.para("  ", plain, Verdict(r, res))
		}
	case len(g.Results) > 1:
		p.matrix(g)
	default:
		t := compactTable(first)
		if parallel(first) {
			p.para("", dim, "Operations overlap: operations a second, of all together.")
		}
		t.fit(p.width, 0)
		t.write(p)
	}
	if slices.ContainsFunc(g.Results, func(res *run.Result) bool {
		return slices.ContainsFunc(res.Comparisons, func(c run.Comparison) bool { return c.Mixed })
	}) {
		p.para("", yellow, mixedLegend)
	}
	p.waits(g)
	p.trace(g)
}

// heading writes a title and, on the same line where there is room, what it asks.
func (p *printer) heading(title, question string) {
	if runes(title)+2+runes(question) <= p.width {
		p.line(strings.TrimRight(p.paint(bold, title)+"  "+p.paint(dim, question), " "))
		return
	}
	p.para("", bold, title)
	p.para("", dim, question)
}

// compactTable has a line for each variant of a result, below what it survives.
func compactTable(res *run.Result) *table {
	t := &table{head: []string{"", "", "", ""}, left: []bool{true, false, false, true}}
	for _, tier := range tiers(res) {
		t.lines = append(t.lines, line{heading: "  " + tier.survives(), style: dim})
		for _, row := range tier.Rows {
			word := clean(row.verdictWord(res))
			cells := []cell{{text: "  " + clean(row.V.Name)}, {text: speedFigure(res, row.V).Text}, {}, {word, wordStyle(word)}}
			if ratioKnown(row.Comparison) {
				cells[2].text = Ratio(row.Comparison.Ratio)
			}
			t.lines = append(t.lines, line{cells: cells})
			for _, c := range row.Mixed {
				t.lines = append(t.lines, line{cells: []cell{
					{"    " + mixedMark + " to " + clean(c.Baseline), yellow}, {}, {mixedMark + " " + Ratio(c.Ratio), plain},
					{mixedMark + " " + clean(c.Verdict), wordStyle(c.Verdict)},
				}})
			}
		}
	}
	return t
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// ellipsis cuts s to a number of columns, and marks the cut.
func ellipsis(s string, width int) string {
	width = max(width, 2)
	if runes(s) <= width {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:width-1]), " ,;:") + "…"
}
