package run

import (
	"math"
	"slices"
	"testing"
)

func TestFindings(t *testing.T) {
	type ns = map[string]float64
	for name, c := range map[string]struct {
		vs   []VariantResult
		ns   ns
		want Finding
	}{
		"one is fastest":          {named(killPrefix, "old", "new"), ns{"old": 100, "new": 48}, Finding{Kind: FoundWinner, Fastest: "new"}},
		"two are fastest":         {named(killPrefix, "old", "x", "y", "z"), ns{"old": 100, "x": 50, "y": 51, "z": 60}, Finding{Kind: FoundWinner, Fastest: "x", Same: []string{"y"}}},
		"the baseline is fastest": {named(killPrefix, "old", "x", "y"), ns{"old": 100, "x": 150, "y": 120}, Finding{Kind: FoundBest, Fastest: "old", Next: "y"}},
		"none differs":            {named(killPrefix, "old", "x"), ns{"old": 100, "x": 101}, Finding{Kind: FoundSame, Same: []string{"x"}}},
		"one is slower":           {named(killPrefix, "old", "x", "y"), ns{"old": 100, "x": 101, "y": 150}, Finding{Kind: FoundSame, Same: []string{"x"}, Slower: []string{"y"}}},
		"nothing":                 {named(killPrefix, "old", "x"), nil, Finding{Kind: FoundNothing}},
		"alone":                   {named(killPrefix, "old"), ns{"old": 100}, Finding{Kind: FoundAlone}},
		"no baseline":             {named(killPrefix, "old", "x"), ns{"x": 50}, Finding{Kind: FoundNothing}},
	} {
		r := exactRun(8, c.vs, c.ns)
		r.Analyse()
		if len(r.Results[0].Findings) != 1 {
			t.Errorf("%s: %+v", name, r.Results[0].Findings)
			continue
		}
		f, w := r.Results[0].Findings[0], c.want
		if f.Kind != w.Kind || f.Baseline != "old" || f.Promise != killPrefix || f.Fastest != w.Fastest || f.Next != w.Next || !slices.Equal(f.Same, w.Same) || !slices.Equal(f.Slower, w.Slower) || len(f.Unclear) > 0 || f.Tolerance != 0.05 {
			t.Errorf("%s: got %+v, want %+v", name, f, w)
		}
		if (f.Ratio != nil) != (f.Fastest != "") {
			t.Errorf("%s: ratio %+v", name, f.Ratio)
		}
	}
}

func TestFindingOfEachPromise(t *testing.T) {
	r := exactRun(8, append(named(killPrefix, "k1", "k2"), named(powerPrefix, "p1")...), map[string]float64{"k1": 100, "k2": 50, "p1": 900})
	r.Analyse()
	f := r.Results[0].Findings
	if len(f) != 2 || f[0].Promise != killPrefix || f[0].Fastest != "k2" || f[1].Promise != powerPrefix || f[1].Kind != FoundAlone {
		t.Errorf("got %+v", f)
	}
}

func TestFindingInDoubt(t *testing.T) {
	r := exactRun(8, named(killPrefix, "old", "x", "y"), map[string]float64{"old": 100, "x": 100, "y": 150})
	for i := range r.Results[0].Blocks {
		if b := &r.Results[0].Blocks[i]; b.Variant == "x" && b.Round > 4 {
			b.Wall += b.Wall / 5
		}
	}
	r.Analyse()
	f := r.Results[0].Findings[0]
	if f.Kind != FoundUnclear || len(f.Unclear) != 1 || !slices.Equal(f.Slower, []string{"y"}) {
		t.Fatalf("got %+v", f)
	}
	u := f.Unclear[0]
	if u.Variant != "x" || u.To != "old" || u.Why != UnclearWide {
		t.Errorf("got %+v", u)
	}
	// From 1.00 to 1.20 around 1.10: shown once the nearer end is past 1.05.
	if want := 1.05*u.Ratio.Median/u.Ratio.Lo - 1; math.Abs(u.Visible-want) > 0.01 {
		t.Errorf("a difference of %v is visible, want about %v", u.Visible, want)
	}
}

// What is visible is where a ratio with as wide an interval gets a verdict.
func TestVisible(t *testing.T) {
	ratio := Estimate{Median: 1.02, Lo: 0.97, Hi: 1.08}
	d := visible(ratio, 0.05)
	scaled := func(by float64) Estimate {
		return Estimate{Median: ratio.Median * by, Lo: ratio.Lo * by, Hi: ratio.Hi * by}
	}
	for _, c := range []struct {
		ratio float64 // of the two times
		want  bool
	}{{(1 + d) * 1.001, true}, {1 / ((1 + d) * 1.001), true}} {
		if got := within(scaled(c.ratio/ratio.Median), 0.05); (got != CannotTell) != c.want {
			t.Errorf("a ratio of %v is %q", c.ratio, got)
		}
	}
	if got := visible(Estimate{Median: 1, Lo: math.NaN(), Hi: math.NaN()}, 0.05); got != 0 {
		t.Errorf("without an interval %v", got)
	}
}
