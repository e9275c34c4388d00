package report

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

// aComparison has a row of each outcome.
func aComparison() *run.CompareReport {
	row := func(variant string, lo, mid, hi float64, o run.Outcome, why string) run.CompareRow {
		return run.CompareRow{
			Experiment: "s/job", Place: "ext4", Variant: variant, Metric: "time", Unit: "ns", Better: -1, Tolerance: 0.05, Baseline: "os",
			Old: run.Estimate{Median: 1000}, New: run.Estimate{Median: 1000 * mid},
			Ratio: run.Ratio{Median: mid, Lo: lo, Hi: hi, Confidence: 0.95, N: 20}, Outcome: o, Why: why,
		}
	}
	base := row("os", 1.1, 1.2, 1.3, run.NotJudged, run.WhyBaseline)
	base.Baseline = ""
	unclear := row("unclear|`x`", 0.96, 1.02, 1.08, run.Inconclusive, run.WhyAcross)
	unclear.Visible, unclear.Rounds = 0.11, 90
	return &run.CompareReport{Outcome: run.Regression, OldRuns: 1, NewRuns: 1, PassRounds: 40, Rows: []run.CompareRow{
		base, row("same", 0.99, 1, 1.01, run.Pass, run.WhyWithin), row("slow", 1.1, 1.2, 1.3, run.Regression, run.WhyBeyond),
		row("fast", 0.5, 0.6, 0.7, run.Pass, run.WhyWithin), unclear,
	}}
}

func TestComparisonText(t *testing.T) {
	var b strings.Builder
	if err := Comparison(&b, aComparison()); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	for _, want := range []string{
		"s/job, slow, time: regression: worse by more than the tolerance of 5 %\n",
		"  inconclusive: could have seen 1.11x, needs 90 rounds\n",
		"1 figure of baselines not judged",
		"with 40 rounds a run (--rounds 40 --fixed-rounds), figures as noisy as these that have not changed pass",
		"(1.20x [1.10, 1.30])  not judged\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if !strings.HasSuffix(out, "\nregression\n") || strings.Contains(out, "ext4") {
		t.Errorf("want the outcome last, and no column for a single place:\n%s", out)
	}
}

// The verdict is first, then what changed, and the rest is folded.
func TestComparisonMarkdown(t *testing.T) {
	var b strings.Builder
	if err := ComparisonMarkdown(&b, aComparison()); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	if !strings.HasPrefix(out, "**Regression: of 4 figures 1 worse by more than the tolerance, 1 unclear, 1 better**\n") {
		t.Errorf("it begins:\n%s", out)
	}
	top, folded, ok := strings.Cut(out, "<details>")
	for _, want := range []string{"| slow |", "| fast |", "unclear\\|\\`x\\`"} {
		if !ok || !strings.Contains(top, want) || strings.Contains(folded, want) {
			t.Errorf("%s is not above the fold:\n%s", want, out)
		}
	}
	for _, want := range []string{"| same |", "| os | time |"} {
		if strings.Contains(top, want) || !strings.Contains(folded, want) {
			t.Errorf("%s is not folded:\n%s", want, out)
		}
	}
}
