package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// Markdown writes the run as GitHub Markdown.
func Markdown(w io.Writer, r *run.Run) error {
	b := bufio.NewWriter(w)
	m := &markdown{b}
	m.head(r)
	for _, g := range grouped(r) {
		m.group(r, g)
	}
	return b.Flush()
}

type markdown struct{ w *bufio.Writer }

func (m *markdown) printf(format string, args ...any) { fmt.Fprintf(m.w, format, args...) }

// escapeMarkdown makes s plain text anywhere in Markdown, tables included.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range clean(s) {
		switch r {
		case '&':
			b.WriteString("&amp;")
			continue
		case '<':
			b.WriteString("&lt;")
			continue
		case '>':
			b.WriteString("&gt;")
			continue
		case '\\', '`', '*', '_', '[', ']', '|', '#', '~', '!', '$':
			b.WriteByte('\\')
		case '@': // GitHub would notify the user of that name
			b.WriteString("&#64;")
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// row writes one row of a table; cells must be escaped.
func (m *markdown) row(cells ...string) { m.printf("| %s |\n", strings.Join(cells, " | ")) }

func (m *markdown) head(r *run.Run) {
	m.printf("# %s\n\n", escapeMarkdown(headline(r)))
	if r.Partial != nil {
		m.printf("> **Partial run.** %s\n\n", escapeMarkdown(Partial(r.Partial)))
	}
	m.claims(r)
	m.outcome(r)
	m.warnings(r)
	m.printf("## Where\n\n")
	for _, p := range r.Places {
		m.printf("- %s\n  %s\n", escapeMarkdown(placeLine(p)), escapeMarkdown(machineLine(p)))
	}
	m.printf("- %s\n\n", escapeMarkdown(upperFirst(settingsLine(r))))
	m.survives(r)
}

// outcome is the summary of the run, as the text ends in it.
func (m *markdown) outcome(r *run.Run) {
	s := r.Summary()
	lines := slices.DeleteFunc(summaryLines(r, s), func(l summaryLine) bool { return forClaim(r, l.Result) })
	if len(lines) == 0 {
		return
	}
	m.printf("## Outcome\n\n")
	places := len(r.Places) > 1
	head, rule := []string{"experiment"}, []string{"---"}
	if places {
		head, rule = append(head, "place"), append(rule, "---")
	}
	m.row(append(head, "fastest way", "ratio", "a piece", "survives")...)
	m.row(append(rule, "---", "---", "---:", "---")...)
	for _, l := range lines {
		cells := []string{escapeMarkdown(l.Label)}
		if places {
			cells = append(cells, escapeMarkdown(l.Row.Place))
		}
		m.row(append(cells, "**"+escapeMarkdown(l.Way)+"**", escapeMarkdown(l.Much), escapeMarkdown(l.Speed), escapeMarkdown(l.Survives))...)
	}
	m.printf("\n%s\n\n", escapeMarkdown(summaryLegend))
	for _, a := range adviceTexts(r, s) {
		m.printf("- **%s**\n", escapeMarkdown(a))
	}
	m.printf("\n")
}

// warnings are those of the places and of the variants, each once.
func (m *markdown) warnings(r *run.Run) {
	items, list := warningItems(r), doubts(r)
	if len(items)+len(list) == 0 {
		return
	}
	m.printf("<details><summary>Warnings</summary>\n\n")
	for _, w := range items {
		m.printf("- **%s:** %s\n", escapeMarkdown(w.Code), escapeMarkdown(w.Text))
	}
	for _, d := range list {
		m.printf("- %s\n", escapeMarkdown(d.Sentence(true)))
	}
	m.printf("\n</details>\n\n")
}

func (m *markdown) survives(r *run.Run) {
	if len(promises(r)) == 0 {
		return
	}
	m.printf("## What survives a crash\n\n")
	m.row("promise", "a finished write", "a crash in the middle leaves")
	m.row("---", "---", "---")
	for _, p := range promises(r) {
		m.row(p.String(), p.Survives(), afterWords(p))
	}
	m.printf("\n")
	for _, c := range capLines(r) {
		m.printf("- **%s**\n", escapeMarkdown(c))
	}
	if len(capLines(r)) > 0 {
		m.printf("\n")
	}
	if anyMixed(r) {
		m.printf("%s\n\n", mixedLegend)
	}
}

func (m *markdown) group(r *run.Run, g *group) {
	title := g.Title
	if len(r.Places) > 1 {
		title += " in " + g.Place
	}
	first := g.Results[0]
	m.printf("## %s\n\n%s One operation: %s.\n\n", escapeMarkdown(title), escapeMarkdown(first.Question), escapeMarkdown(first.Op))
	if len(g.Results) > 1 {
		m.matrix(g)
	}
	for _, res := range g.Results {
		if len(g.Results) > 1 {
			m.printf("### %s\n\n", escapeMarkdown(pointLabel(res)))
		}
		m.result(r, res)
	}
}

func (m *markdown) matrix(g *group) {
	t := matrixOf(g)
	cells := []string{"variant"}
	align := []string{"---"}
	for _, h := range t.head[1:] {
		cells = append(cells, escapeMarkdown(h))
		align = append(align, "---:")
	}
	m.row(cells...)
	m.row(align...)
	for _, l := range t.lines {
		if l.cells == nil {
			m.row(append([]string{"**" + escapeMarkdown(l.heading) + "**"}, make([]string, len(t.head)-1)...)...)
			continue
		}
		out := make([]string, len(l.cells))
		for i, c := range l.cells {
			out[i] = escapeMarkdown(strings.TrimSpace(c.text))
		}
		m.row(out...)
	}
	m.printf("\n%s\n\n", matrixLegend)
}

func (m *markdown) result(measured *run.Run, res *run.Result) {
	m.printf("**%s**\n\n", escapeMarkdown(Verdict(measured, res)))
	m.heats(res)
	m.row("variant", "survives", speedHead(res), "ratio", "verdict", "p (Holm)", "p50", "p99", "allocs/op", "calls/op")
	m.row("---", "---", "---:", "---:", "---", "---:", "---:", "---:", "---:", "---:")
	gp := &gaps{all: len(res.Variants)}
	for _, t := range tiers(res) {
		promise := escapeMarkdown(t.Promise.String())
		for _, r := range t.Rows {
			// The text table's cells, with the whole interval of the time.
			cells := rowCells(res, r, gp)
			out := []string{escapeMarkdown(r.V.Name), promise, escapeMarkdown(wholeSpeed(res, r.V).Text)}
			for _, c := range cells[2:] {
				out = append(out, escapeMarkdown(c.text))
			}
			m.row(out...)
			for _, c := range r.Mixed {
				m.row(mixedMark+" "+escapeMarkdown(r.V.Name+" to "+c.Baseline), promise+" "+mixedMark, "", mixedMark+" "+escapeMarkdown(Ratio(c.Ratio)),
					mixedMark+" "+escapeMarkdown(c.Verdict), escapeMarkdown(holmText(&c)), "", "", "", "")
			}
		}
	}
	m.printf("\n")
	for _, x := range gp.reasons {
		m.printf("- n/a: %s: %s\n", escapeMarkdown(x.Where(gp.all)), escapeMarkdown(x.Reason))
	}
	for _, s := range refusals(res) {
		m.printf("- %s\n", escapeMarkdown(s))
	}
	if s := holmNote(res); s != "" {
		m.printf("- %s\n", escapeMarkdown(s))
	}
	if s := batchNote(res); s != "" {
		m.printf("- %s %s\n", escapeMarkdown(batchMark), escapeMarkdown(s))
	}
	for _, s := range methodNotes(measured, res) {
		m.printf("- %s\n", escapeMarkdown(s))
	}
	m.printf("\n")
	m.waits(res)
	m.trace(res)
}

// claims has a line for each claim, and all about them folded behind.
func (m *markdown) claims(r *run.Run) {
	if len(r.Claims) == 0 {
		return
	}
	m.printf("## Claims: %s\n\n", escapeMarkdown(claimTally(r.Claims)))
	m.row("id", "verdict", "why", "place")
	m.row("---", "---", "---", "---")
	for i := range r.Claims {
		c := &r.Claims[i]
		m.row(escapeMarkdown(c.ID), "**"+escapeMarkdown(c.Verdict)+"**", escapeMarkdown(claimLine(c)), escapeMarkdown(c.Place))
	}
	m.printf("\n<details><summary>What was claimed and measured</summary>\n\n")
	m.row("id", "workload", "claimed", "source", "measured", "survives", "place")
	m.row("---", "---", "---", "---", "---", "---", "---")
	for _, c := range r.Claims {
		m.row(escapeMarkdown(c.ID), escapeMarkdown(c.Statement), escapeMarkdown(c.Claimed), escapeMarkdown(c.Source), escapeMarkdown(c.Measured),
			escapeMarkdown(claimPromise(r, &c)), escapeMarkdown(c.Place))
	}
	m.printf("\n</details>\n\n")
}
