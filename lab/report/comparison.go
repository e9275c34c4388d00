package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

// Comparison writes the report of run.Compare or Run.CompareBuilds as text: a line for
// each figure, the reason of each figure that did not pass, and a last line with the
// outcome alone.
func Comparison(w io.Writer, r *run.CompareReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.Rows) > 0 {
		fmt.Fprintln(t, strings.Join(comparisonHead(r), "\t"))
	}
	for i := range r.Rows {
		fmt.Fprintln(t, strings.Join(comparisonCells(r, &r.Rows[i]), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		if row.Outcome != run.Pass && row.Outcome != run.NotJudged && row.Why != run.WhyAcross { // the table says all of that
			fmt.Fprintf(w, "%s, %s, %s: %s: %s\n", row.Experiment, row.Variant, row.Metric, row.Outcome, rowText(&row))
		}
	}
	for _, s := range comparisonNotes(r) {
		fmt.Fprintln(w, s)
	}
	for _, p := range r.Problems {
		fmt.Fprintln(w, "cannot be compared:", Mismatch(&p))
	}
	for _, d := range r.Differences {
		fmt.Fprintln(w, "overlooked:", Mismatch(&d))
	}
	_, err := fmt.Fprintln(w, r.Outcome)
	return err
}

// comparisonHead is the head of the table. There is a column for the place where there
// are several, and one for the baselines where ratios to them are compared.
func comparisonHead(r *run.CompareReport) []string {
	head := []string{"experiment"}
	if severalPlaces(r) {
		head = append(head, "place")
	}
	head = append(head, "variant", "metric", "old", "new")
	if relative(r) {
		return append(head, "beside", "new/old beside it", "outcome")
	}
	return append(head, "new/old", "outcome")
}

func comparisonCells(r *run.CompareReport, row *run.CompareRow) []string {
	cells := []string{clean(row.Experiment)}
	if severalPlaces(r) {
		cells = append(cells, clean(row.Place))
	}
	cells = append(cells, clean(row.Variant), clean(row.Metric), quantity(row.Old.Median, row.Unit), quantity(row.New.Median, row.Unit))
	ratio := Ratio(run.Estimate(row.Ratio))
	if relative(r) {
		cells = append(cells, cmp.Or(clean(row.Baseline), "-"))
		if row.Outcome == run.NotJudged {
			ratio = "(" + ratio + ")"
		}
	}
	return append(cells, ratio, string(row.Outcome)+powerText(row))
}

func severalPlaces(r *run.CompareReport) bool {
	for _, row := range r.Rows {
		if row.Place != r.Rows[0].Place {
			return true
		}
	}
	return false
}

func relative(r *run.CompareReport) bool {
	for _, row := range r.Rows {
		if row.Baseline != "" || row.Why == run.WhyBaseline || row.Why == run.WhyNoBaseline {
			return true
		}
	}
	return false
}

// comparisonNotes say what holds for all figures.
func comparisonNotes(r *run.CompareReport) (notes []string) {
	baselines, unclear := 0, 0
	for _, row := range r.Rows {
		switch {
		case row.Outcome == run.NotJudged:
			baselines++
		case row.Outcome == run.Inconclusive:
			unclear++
		}
	}
	if baselines > 0 {
		notes = append(notes, units.Count(baselines, "figure")+" of baselines not judged: whether a baseline or the machine has changed, the runs do not show; --absolute judges them too")
	}
	if unclear > 0 && r.PassRounds > 0 {
		notes = append(notes, fmt.Sprintf("with %d rounds a run (--rounds %[1]d --fixed-rounds), figures as noisy as these that have not changed pass, four times in five", r.PassRounds))
	}
	return notes
}

// rowText says why a row has its outcome.
func rowText(row *run.CompareRow) string {
	within := "the tolerance of " + percent(row.Tolerance)
	switch row.Why {
	case run.WhyWithin:
		return "within " + within + " or better"
	case run.WhySame:
		return "both are the same run"
	case run.WhyBeyond:
		return "worse by more than " + within
	case run.WhyAcross:
		return "the interval reaches over " + within
	case run.WhyBaseline:
		return "a baseline: others are compared with it"
	case run.WhyNoBaseline:
		return "both runs need one baseline that a variant of its promise is compared with; --absolute compares the variants by themselves"
	}
	why := Reason(row.Reason)
	if row.Run != "" {
		why = row.Run + " run: " + why
	}
	return clean(why)
}

// powerText says what an inconclusive row could have shown, and how many rounds or runs
// would settle it: ": could have seen 1.2x, needs 40 rounds".
func powerText(row *run.CompareRow) string {
	var parts []string
	if row.Visible > 0 {
		parts = append(parts, "could have seen "+times(1+row.Visible))
	}
	switch {
	case row.Runs > 0:
		parts = append(parts, "needs "+units.Count(row.Runs, "run")+" a side")
	case row.Rounds > 0:
		parts = append(parts, "needs "+units.Count(row.Rounds, "round"))
	case row.Visible > 0:
		parts = append(parts, "as near the tolerance as can be")
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// Mismatch words a mismatch of two runs.
func Mismatch(m *run.Mismatch) string {
	old, now := cmp.Or(m.Old, "not known"), cmp.Or(m.New, "not known")
	switch m.Code {
	case run.MismatchTolerance:
		return clean(fmt.Sprintf("the tolerance of %s is %s: want a share, 0.05 for 5 %%", m.Field, now))
	case run.MismatchMetric:
		var names []string
		for _, metric := range run.Metrics() {
			names = append(names, metric.Name)
		}
		return clean(fmt.Sprintf("no figure is named %q: there are %s, percentiles such as p99, %s, and the metrics that variants report", m.Field, run.MetricTime, strings.Join(names, ", ")))
	case run.MismatchSchema:
		return clean(fmt.Sprintf("the schemas differ: %q and %q", m.Old, m.New))
	case run.MismatchPartial:
		return clean(fmt.Sprintf("the %s run is not complete: %s", m.Field, m.Old+m.New))
	case run.MismatchSetting:
		return clean(fmt.Sprintf("%s was %s, now %s", settingName(m.Field), old, now))
	case run.MismatchPlace:
		return clean("the new run was not made in " + m.Place)
	case run.MismatchEnvironment:
		return clean(fmt.Sprintf("%s: %s: %s, now %s", m.Place, m.Field, old, now))
	case run.MismatchNothing:
		return "the runs have nothing in common: nothing was compared"
	case run.MismatchOneBuild:
		return "the run measured one build only; want one of 'stele bench --against', or two runs"
	}
	return clean(mismatchOf(m))
}

// mismatchOf words a mismatch of an experiment or a variant.
func mismatchOf(m *run.Mismatch) string {
	where := m.Experiment + " in " + m.Place
	if m.Variant != "" {
		where = m.Experiment + ": " + m.Variant
	}
	switch m.Code {
	case run.MismatchPromise:
		return fmt.Sprintf("%s promises %s, now %s", where, m.Old, m.New)
	case run.MismatchMissing:
		if m.Field != "" {
			return fmt.Sprintf("%s is missing in one of the %s runs", where, m.Field)
		}
		return where + " is missing in the new run"
	case run.MismatchAdded:
		return where + " is new and was not compared"
	}
	return m.Code + " " + where
}

// settingName is what people call a setting of a run, by its JSON name.
func settingName(field string) string {
	switch field {
	case "in_process":
		return "blocks in one process:"
	case "block_time_ns":
		return "the time of a block"
	case "quick":
		return "the quick set:"
	}
	return field
}
