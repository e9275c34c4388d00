package report

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/run/runtest"
)

func TestWaitRowsKeepTheWhole(t *testing.T) {
	w := runtest.Sample().Results[0].Variants[0].Waits
	rows := waitRows(w, causeKeys(&run.Result{Variants: []run.VariantResult{{Waits: w}}}))
	if len(rows) != paletteSize || rows[mostCauses].Cause != "3 other causes" {
		t.Fatalf("%d rows, the last is %q", len(rows), rows[len(rows)-1].Cause)
	}
	for i := range 32 {
		var want, got float64
		for _, c := range w.Causes {
			want += c.Over[i]
		}
		for _, r := range rows {
			got += r.over[i]
		}
		if d := got - want; d > 1e-9 || d < -1e-9 {
			t.Errorf("slice %d: rows hold %g goroutines of %g", i, got, want)
		}
	}
}

// What the kernel did not show is said, and is no row of zeros.
func TestWaitsWithoutKernel(t *testing.T) {
	r := runtest.Sample()
	r.Results = r.Results[:1]
	v := &r.Results[0].Variants[0]
	v.Waits.Missing = map[string]run.Reason{"kernel": {Code: run.ReasonText, Text: "needs root"}}
	v.Waits.Samples = 0
	v.Waits.Causes = v.Waits.Causes[:1]
	for kind, text := range written(t, r) {
		if kind == "gobench" {
			continue
		}
		text = strings.Join(strings.Fields(text), " ")
		if !strings.Contains(text, "what threads wait for in the kernel: n/a, needs root") {
			t.Errorf("%s does not say that the kernel was not seen", kind)
		}
		if strings.Contains(text, " 0 samples") {
			t.Errorf("%s counts samples that were not taken", kind)
		}
	}
}

// A cause has one colour in all variants of a result, and only the rest has the
// last one.
func TestCausesKeepTheirColour(t *testing.T) {
	variant := func(shares ...float64) run.VariantResult {
		w := &run.VariantWaits{}
		for i, s := range shares {
			w.Causes = append(w.Causes, run.WaitCause{Cause: string(rune('a' + i)), Share: run.Estimate{Median: s}, Over: []float64{s}})
		}
		return run.VariantResult{Waits: w}
	}
	res := &run.Result{Variants: []run.VariantResult{variant(.5, .3, .2), variant(0, .1, .9), {}, variant(.1, .1, .1, .2, .2, .1, .1, .05, .05)}}
	keys := causeKeys(res)
	if keys["c"].Index != 0 || keys["a"].Index != 1 || keys["b"].Index != 2 || len(keys) != mostCauses {
		t.Errorf("colours: %v", keys)
	}
	for _, i := range []int{0, 1, 3} {
		for _, r := range waitRows(res.Variants[i].Waits, keys) {
			if k, found := keys[r.Cause]; found && k != r.Key || !found && r.Key.Index != mostCauses {
				t.Errorf("variant %d: %q has colour %d", i, r.Cause, r.Key.Index)
			}
		}
	}
	if rows := waitRows(res.Variants[1].Waits, keys); rows[len(rows)-1].Share != "<0.1 %" {
		t.Errorf("a rest of next to nothing is %q", rows[len(rows)-1].Share)
	}
}

func TestStepAreaIsClosed(t *testing.T) {
	at := func(x float64) float64 { return 100 - x }
	got := stepArea([]float64{10, 20}, []float64{0, 5}, at)
	want := "M20 90H500V80H980V95H500V100H20Z"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := stepArea(nil, nil, at); got != "" {
		t.Errorf("nothing is drawn as %q", got)
	}
}

// A p-value that cannot become small is not shown; where it decides, a note says why
// there is no verdict.
func TestHolmIsHidden(t *testing.T) {
	limit := func(p float64) *float64 { return &p }
	for _, c := range []struct {
		least *float64
		want  string
	}{{nil, "0.20"}, {limit(.04), "0.20"}, {limit(.05), ""}, {limit(.3), ""}} {
		if got := holmText(&run.Comparison{PHolm: .2, LeastPHolm: c.least}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	res := &run.Result{Comparisons: []run.Comparison{{LeastPHolm: limit(.3)}, {}}}
	if s := holmNote(res); s != "" {
		t.Errorf("the interval decides, and still: %s", s)
	}
	res.Comparisons[0].Test = run.TestMannWhitney
	if s := holmNote(res); !strings.Contains(s, "below 0.05 in 1 comparison:") || !strings.Contains(s, "nothing can be called") {
		t.Error(s)
	}
}
