package report

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/run/runtest"
)

func text(t *testing.T, r *run.Run, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextFitsWidth(t *testing.T) {
	for _, width := range []int{80, 100, 140} {
		for i, l := range strings.Split(text(t, runtest.Sample(), TextOptions{Width: width, Details: true}), "\n") {
			if n := utf8.RuneCountInString(l); n > width {
				t.Errorf("width %d, line %d has %d columns: %s", width, i+1, n, l)
			}
		}
	}
}

func TestTextColorChangesNothingElse(t *testing.T) {
	r := runtest.Sample()
	coloured := text(t, r, TextOptions{Color: true, Details: true})
	if !strings.Contains(coloured, "\x1b[32mfaster") {
		t.Error("no colour although asked for")
	}
	uncoloured := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(coloured, "")
	if want := text(t, r, TextOptions{Details: true}); uncoloured != want {
		t.Errorf("without the colours the text differs at %s", firstDifference(uncoloured, want))
	}
	if strings.ContainsRune(text(t, r, TextOptions{Details: true}), '\x1b') {
		t.Error("an escape sequence without Color")
	}
}

// A run read from a file of another person must not write to the terminal on its own.
func TestControlCharactersAreReplaced(t *testing.T) {
	const evil = "a\x1b]0;title\x07b\u202ec\nd"
	r := runtest.Sample()
	r.Version, r.Partial, r.Notes = evil, &run.Partial{Cause: evil}, evilNotes(evil)
	r.Places[0].Name, r.Places[0].Environment.CPU = evil, evil
	r.Places[0].Environment.Unknown["model"] = run.Reason{Code: run.ReasonNoModel, Text: evil}
	for _, res := range r.Results {
		res.Suite, res.Name, res.Question, res.Op, res.Findings, res.Refused = evil, evil, evil, evil, evilFindings(evil), []run.Refusal{{Variants: []string{evil}, Baseline: evil}}
		res.Variants[0].Name, res.Variants[0].Warnings = evil, []run.Warning{{Code: evil, Text: evil}}
		for i := range res.Comparisons {
			res.Comparisons[i].Verdict = evil
		}
	}
	r.Claims[0] = run.Claim{ID: evil, Statement: evil, Claimed: evil, Measured: evil, Verdict: evil, Why: evil, Promise: evil, Place: evil}
	for kind, text := range written(t, r) {
		for _, bad := range []string{"\x1b", "\x07", "\u202e"} {
			if kind != "color" && strings.Contains(text, bad) {
				t.Errorf("%s: %q got through", kind, bad)
			}
		}
	}
}

// written is the run as each writer writes it.
func written(t *testing.T, r *run.Run) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for kind, write := range writers {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		texts[kind] = b.String()
	}
	return texts
}

// Every writer must survive a run with nothing in it, and one in which
// nothing could be measured; and must not make a zero of what is missing.
func TestNothingMeasured(t *testing.T) {
	nan := math.NaN()
	none := run.Estimate{Median: nan, Lo: nan, Hi: nan}
	r := &run.Run{Results: []*run.Result{{ID: "s/n", Suite: "s", Name: "n", Variants: []run.VariantResult{
		{Name: "a", Error: "broken"}, {Name: "b", Time: none, Metrics: map[string]run.Estimate{allocsPerOp: none}},
	}, Comparisons: []run.Comparison{{Variant: "b", Baseline: "a", Ratio: none, P: nan, PHolm: nan, Verdict: run.CannotTell}}}}}
	for _, got := range []*run.Run{{}, r} {
		for kind, s := range written(t, got) {
			if strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
				t.Errorf("%s writes NaN or Inf", kind)
			}
		}
	}
	out := text(t, r, TextOptions{Details: true})
	for _, want := range []string{"could not be measured: broken", "no block was finished", "not recorded in this run"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if strings.Contains(out, "[?]") {
		t.Errorf("an interval of nothing in\n%s", out)
	}
	if regexp.MustCompile(`(?m)^  b .*\b0\b`).MatchString(out) {
		t.Errorf("a zero that was not measured in\n%s", out)
	}
}

// A mixed comparison is marked in every output that shows it.
func TestMixedIsMarkedEverywhere(t *testing.T) {
	r := runtest.Sample()
	r.Results = r.Results[:1]
	texts := written(t, r)
	for _, kind := range []string{"text", "details", "markdown", "html"} {
		marked := 0
		for _, l := range strings.Split(texts[kind], "\n") {
			if strings.Contains(l, "77.2x") {
				marked++
				if !strings.Contains(l, mixedMark) {
					t.Errorf("%s: not marked: %s", kind, l)
				}
			}
		}
		if marked == 0 {
			t.Errorf("%s does not show the mixed comparison", kind)
		}
		if !strings.Contains(texts[kind], "promise different things") {
			t.Errorf("%s does not explain the mark", kind)
		}
	}
}

type failingWriter struct{ left int }

var errFull = errors.New("full")

func (f *failingWriter) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	r := runtest.Sample()
	for kind, write := range writers {
		if err := write(&failingWriter{left: 2000}, r); !errors.Is(err, errFull) {
			t.Errorf("%s: a full disk gives %v", kind, err)
		}
	}
}

func TestParamsOrder(t *testing.T) {
	g := grouped(runtest.Sample())
	if len(g) != 4 {
		t.Fatalf("%d groups; want fresh-7, batch, depth and fresh-7 in tmpfs", len(g))
	}
	var depths []string
	for _, res := range g[2].Results {
		depths = append(depths, res.Params["depth"])
	}
	if got := strings.Join(depths, " "); got != "1 2 4 8 16" {
		t.Errorf("depths in the order %s", got)
	}
}

// Results without a verdict for want of rounds are one doubt of the run.
func TestCutIsTold(t *testing.T) {
	r := &run.Run{Results: []*run.Result{{ID: "s/a", Cut: &run.Cut{Rounds: 2, Needed: 6}}, {ID: "s/b", Cut: &run.Cut{Rounds: 2, Needed: 6}}}}
	got := doubts(r)
	if len(got) != 1 || got[0].Sentence(false) != "s/a, s/b: too few rounds for a verdict: the budget had room for 2 of 6." {
		t.Errorf("%+v", got)
	}
}

// What several variants and experiments share is written once.
func TestDoubtsAreJoined(t *testing.T) {
	r := &run.Run{}
	for _, id := range []string{"s/a", "s/b"} {
		res := &run.Result{ID: id}
		for _, name := range []string{"x", "y"} {
			res.Variants = append(res.Variants, run.VariantResult{Name: name, Warnings: []run.Warning{{Code: run.WarnOutliers, Rounds: []int{1}}, {Code: run.WarnFailed, N: 1, Of: 2, Text: "disk full"}}})
		}
		r.Results = append(r.Results, res)
	}
	got := doubts(r)
	if len(got) != 2 || !got[0].Grave || got[1].Grave {
		t.Fatalf("%d doubts, want the failure before the outliers", len(got))
	}
	if s := got[0].Sentence(false); s != "4 variants of 2 experiments: 1 of 2 blocks failed, the first with: disk full." {
		t.Error(s)
	}
	if s := got[1].Sentence(true); s != "Outliers, which stay in every figure: x, y (s/a), x, y (s/b)." {
		t.Error(s)
	}
}

// evilFindings are of every kind, with a text in each name.
func evilFindings(evil string) []run.Finding {
	e := run.Estimate{Median: 1, Lo: 1, Hi: 1}
	list := []string{evil}
	var out []run.Finding
	for _, kind := range []string{run.FoundNothing, run.FoundAlone, run.FoundWinner, run.FoundBest, run.FoundSame, run.FoundUnclear, evil} {
		out = append(out, run.Finding{Kind: kind, Baseline: evil, Fastest: evil, Next: evil, Ratio: &e, Same: list, Slower: list,
			Unclear: []run.Unclear{{Variant: evil, To: evil, Why: run.UnclearWide, Ratio: e}, {Variant: evil, To: evil, Why: run.UnclearFew}}})
	}
	return out
}
