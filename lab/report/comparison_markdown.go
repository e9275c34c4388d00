package report

import (
	"bufio"
	"fmt"
	"io"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

// ComparisonMarkdown writes the report of run.Compare or Run.CompareBuilds as GitHub
// Markdown, for a comment on a pull request: the verdict first, then the figures that
// changed or that nothing is known about, and all others folded.
func ComparisonMarkdown(w io.Writer, r *run.CompareReport) error {
	b := bufio.NewWriter(w)
	m := &markdown{b}
	m.printf("**%s**\n\n", escapeMarkdown(comparisonVerdict(r)))
	for _, p := range r.Problems {
		m.printf("- Cannot be compared: %s\n", escapeMarkdown(Mismatch(&p)))
	}
	if len(r.Problems) > 0 {
		m.printf("\n")
	}
	var first, rest []*run.CompareRow
	for i := range r.Rows {
		if row := &r.Rows[i]; changed(row) {
			first = append(first, row)
		} else {
			rest = append(rest, row)
		}
	}
	m.comparisonTable(r, first)
	for _, row := range first {
		if row.Outcome != run.Pass && row.Why != run.WhyAcross {
			m.printf("- **%s**, %s, %s: %s\n", escapeMarkdown(row.Experiment), escapeMarkdown(row.Variant), escapeMarkdown(row.Metric), escapeMarkdown(rowText(row)))
		}
	}
	for _, s := range comparisonNotes(r) {
		m.printf("- %s\n", escapeMarkdown(s))
	}
	if len(first) > 0 {
		m.printf("\n")
	}
	if len(rest)+len(r.Differences) > 0 {
		m.printf("<details><summary>%s without a change</summary>\n\n", units.Count(len(rest), "figure"))
		m.comparisonTable(r, rest)
		for _, d := range r.Differences {
			m.printf("- Overlooked: %s\n", escapeMarkdown(Mismatch(&d)))
		}
		m.printf("\n</details>\n")
	}
	return b.Flush()
}

// changed reports whether a reader should see a row first: it did not pass, or it is
// better by more than the tolerance.
func changed(row *run.CompareRow) bool {
	return improved(row) || row.Outcome.ExitCode() != 0 && row.Outcome != run.NotJudged
}

// improved reports whether the whole interval of a row is better by more than the
// tolerance.
func improved(row *run.CompareRow) bool {
	if row.Outcome != run.Pass {
		return false
	}
	return row.Better < 0 && row.Ratio.Hi < 1/(1+row.Tolerance) || row.Better > 0 && row.Ratio.Lo > 1+row.Tolerance
}

// comparisonVerdict is the outcome as a sentence.
func comparisonVerdict(r *run.CompareReport) string {
	count := map[run.Outcome]int{}
	better, judged := 0, 0
	for i := range r.Rows {
		count[r.Rows[i].Outcome]++
		if r.Rows[i].Outcome != run.NotJudged {
			judged++
		}
		if improved(&r.Rows[i]) {
			better++
		}
	}
	text := map[run.Outcome]string{run.Pass: "Pass", run.Regression: "Regression", run.Inconclusive: "Inconclusive", run.Broken: "Broken"}[r.Outcome]
	text += ": of " + units.Count(judged, "figure")
	sep := " "
	for _, c := range []struct {
		n     int
		words string
	}{
		{count[run.Regression], "worse by more than the tolerance"}, {count[run.Inconclusive], "unclear"},
		{count[run.Broken], "missing"}, {better, "better"},
	} {
		if c.n > 0 {
			text += fmt.Sprintf("%s%d %s", sep, c.n, c.words)
			sep = ", "
		}
	}
	if sep == " " {
		text += " none is worse by more than the tolerance"
	}
	return text
}

func (m *markdown) comparisonTable(r *run.CompareReport, rows []*run.CompareRow) {
	if len(rows) == 0 {
		return
	}
	head := comparisonHead(r)
	m.row(head...)
	for range head {
		m.printf("| --- ")
	}
	m.printf("|\n")
	for _, row := range rows {
		var cells []string
		for _, c := range comparisonCells(r, row) {
			cells = append(cells, escapeMarkdown(c))
		}
		m.row(cells...)
	}
	m.printf("\n")
}
