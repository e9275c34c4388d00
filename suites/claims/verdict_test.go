package claims

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// Figures for a claimed ratio of 2: clear answers, an interval over the limit of 1.8, no
// interval, and no figure.
var (
	ratioYes     = suitetest.About(2)
	ratioNo      = suitetest.About(1.2)
	ratioUnclear = suitetest.Wide(1.9, 0.2)
	ratioFew     = run.Estimate{Median: 2, Lo: math.NaN(), Hi: math.NaN(), N: 3}
)

func TestAnswersOfRule2(t *testing.T) {
	for _, c := range []struct {
		name string
		part part
		want answer
	}{
		{"as claimed", claimed("q", ratioYes, 2), yes},
		{"more than claimed", claimed("q", suitetest.About(50), 2), yes},
		{"a tenth less", claimed("q", suitetest.Wide(1.85, 0.01), 2), yes},
		{"the direction only", claimed("q", ratioNo, 2), no},
		{"over the limit", claimed("q", ratioUnclear, 2), cannotTell},
		{"too few rounds", claimed("q", ratioFew, 2), cannotTell},
		{"nothing measured", claimed("q", noEstimate, 2), untested},
		{"no round yet", claimed("q", notYet, 2), cannotTell},
		{"no round of one of two", claimed("q", quotient(ratioYes, notYet), 2), cannotTell},
		{"one of two is missing", claimed("q", inverse(quotient(notYet, noEstimate)), 2), untested},
		{"the same", same("q", suitetest.Wide(1, 0.05)), yes},
		{"not the same", same("q", suitetest.About(1.2)), no},
		{"hardly the same", same("q", suitetest.Wide(1.1, 0.05)), cannotTell},
		{"a direction", direction("q", suitetest.About(1.1)), yes},
		{"none", direction("q", suitetest.About(1.02)), no},
		{"the other", direction("q", suitetest.About(0.5)), no},
		{"which", direction("q", suitetest.Wide(1.05, 0.1)), cannotTell},
		{"a fact", fact("q", true, "EMFILE"), yes},
		{"no fact", fact("q", false, "0 calls"), no},
		{"at most", most("q", suitetest.About(4), 4.4, factor), yes},
		{"more than at most", most("q", suitetest.About(5), 4.4, factor), no},
	} {
		if c.part.answer != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.part.answer, c.want)
		}
	}
	if p := claimed("q", ratioNo, 2); !strings.Contains(p.says(), "the direction is as claimed") {
		t.Errorf("a ratio that is too small: %s", p.says())
	}
}

func TestVerdictOfParts(t *testing.T) {
	is := func(e run.Estimate) part { return claimed("speed", e, 2) }
	tail := func(e run.Estimate) part { return claimed("p99", e, 2) }
	for _, c := range []struct {
		name, want, why string
		parts           []part
	}{
		{"all yes", Holds, "", []part{is(ratioYes), tail(ratioYes)}},
		{"one no refutes, whatever is unclear", DoesNotHold, "p99: 1.20x", []part{is(ratioUnclear), tail(ratioNo)}},
		{"one no refutes a yes on another question", DoesNotHold, "p99", []part{is(ratioYes), tail(ratioNo)}},
		{"no under all conditions", DoesNotHold, "speed (warm)", []part{is(ratioNo).under("warm"), is(ratioNo).under("cold")}},
		{"no under one, unclear under the other", DoesNotHold, "cold", []part{is(ratioUnclear).under("warm"), is(ratioNo).under("cold")}},
		{"by condition", Depends, "speed: yes with warm; no with cold", []part{is(ratioYes).under("warm"), is(ratioNo).under("cold")}},
		{"by condition, with another unclear", Depends, "", []part{is(ratioYes).under("warm"), is(ratioNo).under("cold"), tail(ratioUnclear)}},
		{"the report names the one that fails", DoesNotHold, "", []part{is(ratioYes).under("warm"), is(ratioNo).underNamed("cold")}},
		{"the report names the one that does not", Holds, "", []part{is(ratioYes).underNamed("warm"), is(ratioNo).under("cold")}},
		{"the report names both", Depends, "", []part{is(ratioYes).underNamed("warm"), is(ratioNo).underNamed("cold")}},
		{"unclear", CannotTell, "more rounds would settle it", []part{is(ratioYes), tail(ratioUnclear)}},
		{"too few rounds", CannotTell, "3 rounds, an interval takes", []part{is(ratioFew)}},
		{"one untested", Holds, "Not tested: no counters", []part{is(ratioYes), tail(ratioYes).needs("no counters")}},
		{"one untested, one no", DoesNotHold, "", []part{is(ratioNo), tail(ratioYes).needs("no counters")}},
		{"the main one untested", CannotTest, "No images", []part{is(ratioYes), tail(ratioYes).needs("no images").main()}},
		{"all untested", CannotTest, "2 processors, the claim is about 8", []part{is(ratioNo).needs("2 processors, the claim is about 8")}},
		{"nothing measured", CannotTest, "", []part{is(noEstimate)}},
		{"only shown", CannotTest, "nothing that decides", []part{is(ratioNo).onlyShown()}},
		{"what is shown decides nothing", Holds, "", []part{is(ratioYes), tail(ratioNo).onlyShown()}},
		{"a wrong result never says yes", CannotTest, "", []part{is(ratioYes).wrong("the file is destroyed")}},
		{"a wrong result may say no", Depends, "", []part{is(ratioYes).under("as meant"), is(ratioNo).under("as coded").wrong("the file is destroyed")}},
	} {
		got, why := verdictOf(c.parts)
		if got != c.want || !strings.Contains(strings.ToLower(why), strings.ToLower(c.why)) {
			t.Errorf("%s: %q because %q, want %q because of %q", c.name, got, why, c.want, c.why)
		}
	}
}

// The rounds that are advised narrow an interval enough, half as many do not.
func TestMoreRoundsAreEnough(t *testing.T) {
	for _, c := range []struct {
		e     run.Estimate
		limit float64
	}{
		{run.Estimate{Median: 2, Lo: 1.7, Hi: 2.3, N: 20}, 1.8},
		{run.Estimate{Median: 1.5, Lo: 1.0, Hi: 2.2, N: 10}, 1.8},
		{run.Estimate{Median: 0.02, Lo: -0.1, Hi: 0.2, N: 10}, 0.1},
	} {
		more := moreRounds(c.e, c.limit)
		settles := func(more int) bool {
			narrower := math.Sqrt(float64(c.e.N) / float64(c.e.N+more))
			lo, hi := c.e.Median*math.Pow(c.e.Lo/c.e.Median, narrower), c.e.Median*math.Pow(c.e.Hi/c.e.Median, narrower)
			if c.e.Lo <= 0 {
				lo, hi = c.e.Median+(c.e.Lo-c.e.Median)*narrower, c.e.Median+(c.e.Hi-c.e.Median)*narrower
			}
			return lo >= c.limit-1e-9 || hi <= c.limit+1e-9
		}
		if !settles(more) || settles(more/2) {
			t.Errorf("%+v against %g: %d more rounds: settled %v; half as many: %v", c.e, c.limit, more, settles(more), settles(more/2))
		}
	}
	on := claimed("q", run.Estimate{Median: 1.8, Lo: 1.7, Hi: 1.9, N: 20}, 2)
	if got := on.unsettled(); !strings.Contains(got, "hardly settle") || !strings.Contains(got, "1.906 or more") {
		t.Errorf("a figure on the limit: %s", got)
	}
}

func TestProcessorsRule(t *testing.T) {
	ev := &evidence{place: run.Place{Environment: run.Environment{CPUs: 2, GOMAXPROCS: 16}}}
	if got := ev.processors(8); got != "2 processors, the claim is about 8" {
		t.Errorf("2 of 8 processors: %q", got)
	}
	ev.place.Environment.CPUs = 16
	if got := ev.processors(8); got != "" {
		t.Errorf("16 of 8 processors: %q", got)
	}
	ev.place.Environment.Pinned = "0,4-5"
	if got := ev.processors(8); got != "3 processors, the claim is about 8" {
		t.Errorf("blocks pinned to 3 processors: %q", got)
	}
	ev.place.Environment.Pinned = ""
	ev.place.Environment.GOMAXPROCS = 4 // a quota
	if got := ev.processors(8); got != "4 processors, the claim is about 8" {
		t.Errorf("a quota of 4: %q", got)
	}
}

// A claim of parts has them in its run, and in words.
func TestClaimOfParts(t *testing.T) {
	c := claimD1()
	got := c.claim(ruling("Chosen so.", claimed("speed", ratioYes, 2).note(notSameJob), figureOf("memory", "3 MB"),
		claimed("p99", noEstimate, 2)), "d", &evidence{missing: []string{"no result of X"}})
	if got.Verdict != Holds || len(got.Parts) != 3 || got.Parts[0].Answer != "yes" || got.Parts[1].Answer != "" ||
		got.Parts[1].Role != run.PartShown || got.Parts[2].Answer != CannotTest || got.Parts[0].Estimate == nil {
		t.Errorf("not its parts: %+v", got)
	}
	for _, want := range []string{"Speed: 2.00x [1.98, 2.02], want 1.80x or more (claimed 2.00x), not the same job: yes.", "Memory: 3 MB."} {
		if !strings.Contains(got.Measured, want) {
			t.Errorf("%q is not in %q", want, got.Measured)
		}
	}
	if !strings.Contains(got.Why, "no result of X") || !strings.HasSuffix(got.Why, "Chosen so.") {
		t.Errorf("why: %s", got.Why)
	}
}

// A run that was out of time before the first round of a way cannot tell: nothing that the
// claim needs is missing.
func TestNoRoundIsNoLack(t *testing.T) {
	c := claimL4()
	m := in("d", "ext4").all(&c, byVariant(nil)).each(func(_ *run.Result, v *run.VariantResult) {
		v.Time, v.Metrics, v.Latency = noEstimate, nil, nil
	})
	for _, r := range m.results {
		for i := range r.Comparisons {
			r.Comparisons[i].Ratio = noEstimate
		}
	}
	got := judge(t, &c, m)
	expect(t, "no round", got, CannotTell)
	if !strings.Contains(got.Why, "0 rounds, an interval takes 6") {
		t.Errorf("the reason is %q", got.Why)
	}

	// Where another of its experiments cannot run here, that is not the reason.
	c = claimL5(1)
	m = in("d", "tmpfs").all(&c, byVariant(nil)).each(func(r *run.Result, v *run.VariantResult) {
		v.Time, v.Metrics, v.Latency = noEstimate, nil, nil
		if r.Params["state"] == "cold" {
			v.Error = "nothing can be cold"
		}
	})
	expect(t, "no round of what can run", judge(t, &c, m), CannotTell)
}
