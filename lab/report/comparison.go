package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/stele-go/stele/lab/run"
)

// Comparison writes the report of run.Compare as text: a line for each figure, the
// reason of each figure that did not pass, and a last line with the outcome alone.
func Comparison(w io.Writer, r *run.CompareReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.Rows) > 0 {
		fmt.Fprintln(t, "experiment\tplace\tvariant\tmetric\told\tnew\tnew/old\toutcome")
	}
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Experiment, row.Place, row.Variant, row.Metric,
			quantity(row.Old.Median, row.Unit), quantity(row.New.Median, row.Unit), Ratio(run.Estimate(row.Ratio)), row.Outcome)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		if row.Outcome != run.Pass {
			fmt.Fprintf(w, "%s, %s, %s: %s: %s\n", row.Experiment, row.Variant, row.Metric, row.Outcome, rowText(&row))
		}
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

// rowText says why a row has its outcome.
func rowText(row *run.CompareRow) string {
	within := "the tolerance of " + percent(row.Tolerance)
	switch row.Why {
	case run.WhyWithin:
		return "within " + within + " or better"
	case run.WhyBeyond:
		return "worse by more than " + within
	case run.WhyAcross:
		return "the interval reaches over " + within + ": more rounds would narrow it"
	}
	why := Reason(row.Reason)
	if row.Run != "" {
		why = row.Run + " run: " + why
	}
	return clean(why)
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
	}
	where := m.Experiment + " in " + m.Place
	if m.Variant != "" {
		where = m.Experiment + ": " + m.Variant
	}
	switch m.Code {
	case run.MismatchPromise:
		return clean(fmt.Sprintf("%s promises %s, now %s", where, m.Old, m.New))
	case run.MismatchMissing:
		return clean(where + " is missing in the new run")
	case run.MismatchAdded:
		return clean(where + " is new and was not compared")
	}
	return clean(m.Code + " " + where)
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
