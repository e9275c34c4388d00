package report

import (
	"bytes"
	"html/template"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/run/runtest"
)

func render(t *testing.T, r *run.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A full run must stay a file that can be mailed and that opens at once.
func TestFullRunStaysSmall(t *testing.T) {
	r := runtest.Full()
	start := time.Now()
	n := len(render(t, r))
	t.Logf("%.1f MB in %v", float64(n)/1e6, time.Since(start))
	if n > 6e6 {
		t.Errorf("a full run makes a page of %d bytes", n)
	}
}

// Nothing that a run brings along may become markup.
func TestHTMLEscapes(t *testing.T) {
	const evil = `</title></script><img src=x onerror=alert(1)>"'&{{.}}`
	r := runtest.Sample()
	r.Version, r.Partial, r.Notes, r.Command, r.Settings.Test = evil, &run.Partial{Cause: evil}, evilNotes(evil), []string{evil}, evil
	r.Places[0].Name = evil
	r.Places[0].Environment.CPU = evil
	r.Places[0].Environment.Unknown["model"] = run.Reason{Code: run.ReasonNoModel, Text: evil}
	r.Places[0].Environment.Warnings[0].Text = evil
	for _, res := range r.Results {
		res.Suite, res.Name, res.Question, res.Op, res.Findings, res.Refused = evil, evil, evil, evil, evilFindings(evil), []run.Refusal{{Variants: []string{evil}, Baseline: evil}}
		if res.Params != nil {
			res.Params = run.Params{evil: res.Params["depth"] + evil}
		}
		old := res.Variants[0].Name
		v := &res.Variants[0]
		v.Name, v.Doc, v.Warnings = evil, evil, []run.Warning{{Code: evil, Text: evil}}
		v.Missing = map[string]run.Reason{evil: {Code: run.ReasonText, Text: evil}}
		v.Syscalls = map[string]float64{evil: 1}
		v.Waits = &run.VariantWaits{
			Blocks: 1, Missing: map[string]run.Reason{evil: {Code: run.ReasonText, Text: evil}}, Contention: []run.Contention{{Profile: evil, Call: evil, In: evil}},
			Causes: []run.WaitCause{{Where: evil, Cause: evil, Symbol: evil, Share: run.Estimate{Median: 1}, Over: []float64{1, 2}}},
		}
		for i := range res.Blocks {
			if res.Blocks[i].Variant == old {
				res.Blocks[i].Variant = evil
			}
		}
		for i := range res.Comparisons {
			res.Comparisons[i].Baseline, res.Comparisons[i].Verdict, res.Comparisons[i].Test = evil, evil, evil
		}
	}
	r.Claims[0] = run.Claim{ID: evil, Statement: evil, Claimed: evil, Measured: evil, Verdict: evil, Why: evil, Promise: evil, Place: evil}
	page := render(t, r)
	if strings.Contains(page, "<img") || strings.Contains(page, "</script") || strings.Count(page, "</title>") < 2 {
		t.Error("markup of the run got into the page")
	}
	if !strings.Contains(page, template.HTMLEscapeString(evil)[:20]) {
		t.Error("the texts of the run do not show at all")
	}
	var svg bytes.Buffer
	if err := SVG(&svg, r, r.Results[0]); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(svg.String(), "<img") || strings.Contains(svg.String(), "</script") {
		t.Error("markup of the run got into the picture")
	}
	var md bytes.Buffer
	if err := Markdown(&md, r); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(md.String(), "<img") {
		t.Error("markup of the run got into the Markdown")
	}
}

// The page needs nothing but itself.
func TestHTMLLoadsNothing(t *testing.T) {
	page := render(t, runtest.Sample())
	if m := regexp.MustCompile(`(?i)<script|\bsrc=|@import|url\(|https?://|<link|<iframe| on[a-z]+=`).FindString(page); m != "" {
		t.Errorf("the page has %q", m)
	}
	if !strings.Contains(page, "default-src 'none'") {
		t.Error("no content security policy")
	}
}

// Each row of a Markdown table has as many cells as its head.
func TestMarkdownTables(t *testing.T) {
	r := runtest.Sample()
	r.Results[0].Variants[1].Name = "a|b `c` *d* <e> @f"
	var b bytes.Buffer
	if err := Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	cells := func(l string) int { return strings.Count(strings.ReplaceAll(l, `\|`, ""), "|") }
	want, rows := 0, 0
	for _, l := range strings.Split(b.String(), "\n") {
		if !strings.HasPrefix(l, "|") {
			want = 0
			continue
		}
		rows++
		if want == 0 {
			want = cells(l)
		}
		if cells(l) != want {
			t.Errorf("%d cells, the head has %d: %s", cells(l), want, l)
		}
	}
	if rows < 50 {
		t.Errorf("only %d rows of tables", rows)
	}
	if !strings.Contains(b.String(), "a\\|b \\`c\\` \\*d\\* &lt;e&gt; &#64;f") {
		t.Error("a name is not escaped")
	}
}
