package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

// History writes a history as text: a line for each series, its changes below it, and
// what changed on the machine from run to run.
func History(w io.Writer, h *run.History) error {
	fmt.Fprintln(w, historyHead(h))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(historyColumns(h), "\t"))
	for i := range h.Series {
		fmt.Fprintln(t, strings.Join(historyCells(h, &h.Series[i]), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range historyNotes(h) {
		fmt.Fprintln(w, s)
	}
	_, err := fmt.Fprintln(w, historyVerdict(h))
	return err
}

// HistoryMarkdown writes a history as GitHub Markdown.
func HistoryMarkdown(w io.Writer, h *run.History) error {
	b := bufio.NewWriter(w)
	m := &markdown{b}
	m.printf("**%s**\n\n%s\n\n", escapeMarkdown(historyVerdict(h)), escapeMarkdown(historyHead(h)))
	head := historyColumns(h)
	m.row(head...)
	for range head {
		m.printf("| --- ")
	}
	m.printf("|\n")
	for i := range h.Series {
		var cells []string
		for _, c := range historyCells(h, &h.Series[i]) {
			cells = append(cells, escapeMarkdown(c))
		}
		m.row(cells...)
	}
	m.printf("\n")
	for _, s := range historyNotes(h) {
		m.printf("- %s\n", escapeMarkdown(s))
	}
	return b.Flush()
}

// historyHead says of how many runs the history is, and from when to when.
func historyHead(h *run.History) string {
	if len(h.Runs) == 0 {
		return "no runs"
	}
	first, last := h.Runs[0], h.Runs[len(h.Runs)-1]
	return fmt.Sprintf("%s, from %s to %s", units.Count(len(h.Runs), "run"), runLabel(&first), runLabel(&last))
}

// runLabel names a run by its revision, or by its file where it has none, and its day.
func runLabel(r *run.HistoryRun) string {
	return fmt.Sprintf("%s (%s)", clean(cmp.Or(r.Build.Short(), r.Name)), r.Started.UTC().Format("2006-01-02"))
}

func historyPlaces(h *run.History) bool {
	for _, s := range h.Series {
		if s.Place != "" {
			return true
		}
	}
	return false
}

func historyColumns(h *run.History) []string {
	head := []string{"experiment"}
	if historyPlaces(h) {
		head = append(head, "place")
	}
	return append(head, "variant", "beside", "runs", "first", "last", "changes")
}

func historyCells(h *run.History, s *run.HistorySeries) []string {
	cells := []string{clean(s.Experiment)}
	if historyPlaces(h) {
		cells = append(cells, clean(s.Place))
	}
	levels := s.Levels()
	var changes []string
	for i := range s.Changes {
		changes = append(changes, changeText(h, s, &s.Changes[i]))
	}
	return append(cells, clean(s.Variant), cmp.Or(clean(s.Baseline), "-"), fmt.Sprint(len(s.Points)),
		historyFigure(s, levels[0]), historyFigure(s, levels[len(levels)-1]), cmp.Or(strings.Join(changes, "; "), "none"))
}

// historyFigure is a figure of a series: a ratio, or a time.
func historyFigure(s *run.HistorySeries, x float64) string {
	if s.Baseline == "" {
		return duration(x)
	}
	return times(x)
}

// changeText is a change: "1.15x at 1a2b3c4d5e6f (2026-11-01)".
func changeText(h *run.History, s *run.HistorySeries, c *run.HistoryChange) string {
	return fmt.Sprintf("%s at %s", times(c.Ratio), runLabel(&h.Runs[s.Points[c.Point].Run]))
}

// historyNotes say where the machine or the settings changed, and of too short a
// history.
func historyNotes(h *run.History) (notes []string) {
	for i := range h.Runs {
		r := &h.Runs[i]
		if len(r.Differs) == 0 {
			continue
		}
		var what []string
		for _, d := range r.Differs {
			what = append(what, fmt.Sprintf("%s: %s, now %s", d.Field, cmp.Or(d.Old, "not known"), cmp.Or(d.New, "not known")))
		}
		notes = append(notes, clean("from "+runLabel(r)+" on: "+strings.Join(what, "; ")))
	}
	if len(h.Runs) < 8 {
		notes = append(notes, "a change is marked in a series of eight runs or more")
	}
	return notes
}

// historyVerdict says how many changes there are.
func historyVerdict(h *run.History) string {
	changes, in := 0, 0
	for _, s := range h.Series {
		changes += len(s.Changes)
		if len(s.Changes) > 0 {
			in++
		}
	}
	if changes == 0 {
		return "no change in " + plainCount(len(h.Series))
	}
	return fmt.Sprintf("%s in %d of %s", units.Count(changes, "change"), in, plainCount(len(h.Series)))
}

// plainCount counts series: the word has one form.
func plainCount(n int) string { return fmt.Sprintf("%d series", n) }
