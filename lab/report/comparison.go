package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/stele-go/stele/lab/run"
)

// Comparison writes what run.Compare found as text: a line for each figure,
// the reasons of those that did not pass, and last the outcome alone.
func Comparison(w io.Writer, r *run.CompareReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.Rows) > 0 {
		fmt.Fprintln(t, "experiment\tplace\tvariant\tmetric\told\tnew\tnew/old\toutcome")
	}
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Experiment, row.Place, row.Variant, row.Metric,
			quantity(row.Old.Median, row.Unit), quantity(row.New.Median, row.Unit), ratio(run.Estimate(row.Ratio)), row.Outcome)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		if row.Outcome != run.Pass {
			fmt.Fprintf(w, "%s, %s, %s: %s: %s\n", row.Experiment, row.Variant, row.Metric, row.Outcome, row.Reason)
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintln(w, "cannot be compared:", p)
	}
	for _, d := range r.Differences {
		fmt.Fprintln(w, "overlooked:", d)
	}
	_, err := fmt.Fprintln(w, r.Outcome)
	return err
}
