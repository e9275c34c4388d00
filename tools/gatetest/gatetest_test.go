package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

// A whole trial, with builds so much slower that noise hides none of them: each of both
// gates measures real programs and has a verdict on each.
func TestTrial(t *testing.T) {
	for range 5 {
		var out, diag bytes.Buffer
		code := execute(t.Context(), []string{"-builds", "1", "-slower", "30", "-pilot", "6", "-most", "6", "-block-time", "5ms", "-only", "against"}, &out, &diag)
		if diag.Len() > 0 {
			t.Fatalf("exit code %d: %s", code, diag.String())
		}
		for _, want := range []string{"against: 1 unchanged builds: ", "against: noise of a block "} {
			if !strings.Contains(out.String(), want) {
				t.Fatalf("it does not say %q:\n%s", want, out.String())
			}
		}
		// Other work of the machine may spoil one trial, not each of five.
		if strings.Contains(out.String(), "3000 % more work: 0 pass, 0 inconclusive, 1 regression, 0 broken") {
			return
		}
		t.Log(out.String())
	}
	t.Error("a build that does 31 times the work is not called slower")
}

func TestOutcomeOf(t *testing.T) {
	report := func(standard, mine run.Outcome) *run.CompareReport {
		return &run.CompareReport{Rows: []run.CompareRow{{Variant: "standard", Outcome: standard}, {Variant: "mine", Outcome: mine}}}
	}
	for _, c := range []struct {
		r    *run.CompareReport
		want run.Outcome
	}{
		{report(run.Pass, run.Pass), run.Pass},
		{report(run.NotJudged, run.Inconclusive), run.Inconclusive},
		{report(run.Inconclusive, run.Regression), run.Regression},
		{report(run.Regression, run.Pass), run.Regression},
		{&run.CompareReport{}, run.Broken},
		{&run.CompareReport{Problems: []run.Mismatch{{}}}, run.Broken},
	} {
		if got := outcomeOf(c.r); got != c.want {
			t.Errorf("%+v: %s, want %s", c.r, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, args := range []string{"-builds 0", "-slower 0", "-pilot 3", "-only both", "-pilot 20 -most 10"} {
		var diag bytes.Buffer
		if code := execute(t.Context(), strings.Fields(args), &bytes.Buffer{}, &diag); code != 2 || !strings.Contains(diag.String(), "want") {
			t.Errorf("%s: exit code %d: %s", args, code, diag.String())
		}
	}
}
