package report

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
)

func TestVerdictSentence(t *testing.T) {
	type ns = map[string]float64
	for _, c := range []struct {
		name string
		vs   []run.VariantResult
		ns   ns
		want string
	}{
		{
			"one is fastest", named(killPrefix, "os.MkdirAll", "Batch"), ns{"os.MkdirAll": 100, "Batch": 48},
			"Batch takes 0.48x the time of os.MkdirAll (95 % interval 0.48 to 0.48) and survives the same: kill -9, not a power cut.",
		},
		{
			"two are fastest", named(powerPrefix, "old", "x", "y", "z"), ns{"old": 100, "x": 50, "y": 51, "z": 60},
			"x takes 0.50x the time of old (95 % interval 0.50 to 0.50) and survives the same: a power cut; the same as it within 5 %: y.",
		},
		{
			"the baseline is fastest", named(killPrefix, "old", "x", "y"), ns{"old": 100, "x": 150, "y": 120},
			"old is the fastest: y takes 1.20x its time (95 % interval 1.20 to 1.20) and survives the same: kill -9, not a power cut.",
		},
		{
			"none differs", named(killPrefix, "old", "x"), ns{"old": 100, "x": 101},
			"No variant is faster than old; x is the same as old within 5 % (1.01x, 95 % interval 1.01 to 1.01); each survives kill -9, not a power cut.",
		},
		{
			"nothing", named(killPrefix, "old", "x"), nil,
			"Nothing was measured.",
		},
		{
			"alone", named(killPrefix, "old"), ns{"old": 100},
			"old is the only variant measured with this promise; it survives kill -9, not a power cut.",
		},
		{
			"two promises", append(named(killPrefix, "k1", "k2"), named(powerPrefix, "p1")...), ns{"k1": 100, "k2": 50, "p1": 900},
			"Promise kill, prefix: k2 takes 0.50x the time of k1 (95 % interval 0.50 to 0.50) and survives the same: kill -9, not a power cut. " +
				"Promise power, prefix: p1 is the only variant measured with this promise; it survives a power cut.",
		},
		{
			"no baseline", named(killPrefix, "old", "x"), ns{"x": 50},
			"No verdict without old, which the others are compared with. old was not measured.",
		},
	} {
		r := exactRun(8, c.vs, c.ns)
		r.Analyse()
		if got := Verdict(r, r.Results[0]); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// slowLater makes variants take a fifth longer after the fourth round.
func slowLater(r *run.Run, variants ...string) {
	for i := range r.Results[0].Blocks {
		if b := &r.Results[0].Blocks[i]; slices.Contains(variants, b.Variant) && b.Round > 4 {
			b.Wall += b.Wall / 5
		}
	}
}

func TestVerdictSentenceInDoubt(t *testing.T) {
	r := exactRun(8, named(killPrefix, "old", "x", "y"), map[string]float64{"old": 100, "x": 100, "y": 150})
	slowLater(r, "x")
	r.Analyse()
	want := "Cannot tell which is fastest of old and x: a difference of 1.2x would have been seen, and " + fmt.Sprint(r.Results[0].Findings[0].RoundsNeeded) + " rounds would probably settle it; " +
		"slower: y (1.50x, 95 % interval 1.50 to 1.50); each survives kill -9, not a power cut."
	if got := Verdict(r, r.Results[0]); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// Of reads nothing is said to survive or to be lost.
func TestVerdictOfReads(t *testing.T) {
	for want, ns := range map[string]map[string]float64{
		"x takes 0.50x the time of old (95 % interval 0.50 to 0.50).":                                         {"old": 100, "x": 50},
		"old is the fastest: x takes 2.00x its time (95 % interval 2.00 to 2.00).":                            {"old": 100, "x": 200},
		"No variant is faster than old; x is the same as old within 5 % (1.00x, 95 % interval 1.00 to 1.00).": {"old": 100, "x": 100},
	} {
		r := exactRun(8, named(run.WritesNothing(), "old", "x"), ns)
		r.Analyse()
		if got := Verdict(r, r.Results[0]); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		var text bytes.Buffer
		if err := Text(&text, r, TextOptions{Details: true}); err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"lost when", "survive", "torn"} {
			if strings.Contains(strings.ReplaceAll(text.String(), "What survives a crash", ""), word) {
				t.Errorf("the text of a run of reads has %q:\n%s", word, text.String())
			}
		}
	}
}

// Of many in doubt some are counted: the sentence stays short.
func TestVerdictSentenceIsShort(t *testing.T) {
	r := exactRun(8, named(killPrefix, "old", "x", "y", "z"), map[string]float64{"old": 100, "x": 100, "y": 95, "z": 101})
	slowLater(r, "x", "y", "z")
	r.Analyse()
	want := "Cannot tell which is fastest of old, x and 2 more: a difference of 1.2x would have been seen; each survives kill -9, not a power cut."
	if got := Verdict(r, r.Results[0]); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// What was compared across promises is marked, and what was not judged is named.
func TestVerdictNamesWhatIsNotJudged(t *testing.T) {
	r := exactRun(8, append(named(killPrefix, "k", "gone", "cannot", "failed"), named(powerPrefix, "p")...), map[string]float64{"k": 100, "p": 4500, "failed": 50})
	r.Settings.MixLevels = true
	r.Results[0].Variants[2].Error, r.Results[0].Variants[2].Unsupported = "no such call", true
	r.Results[0].Variants[3].Error = "disk full"
	r.Analyse()
	got := Verdict(r, r.Results[0])
	for _, want := range []string{
		"Across promises, so not like with like: p (power, prefix) takes " + mixedMark + "45.0x the time of k (kill, prefix)",
		"gone was not measured.", "cannot is not supported here.", "failed failed during the run and is not judged.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in: %s", want, got)
		}
	}
}

// Where the test of the settings does not agree, the sentence says so.
func TestVerdictNamesTheTest(t *testing.T) {
	r := exactRun(6, named(killPrefix, "a", "b"), map[string]float64{"a": 100, "b": 120})
	for i := range r.Results[0].Blocks {
		b := &r.Results[0].Blocks[i]
		b.Wall *= run.Nanos(b.Round)
	}
	r.Settings.Test = run.TestWelch
	r.Analyse()
	if got := Verdict(r, r.Results[0]); !strings.Contains(got, "fastest of a and b: the test welch does not confirm the interval of b, corrected p 0.") {
		t.Errorf("got %s", got)
	}
}

func TestKneeWords(t *testing.T) {
	cell := func(name string, x, y int, ns float64) run.VariantResult {
		return run.VariantResult{Name: name, Cell: &run.Cell{Surface: "ring", XName: "in flight", YName: "threads", X: x, Y: y}, Time: run.Estimate{Median: ns, N: 8}}
	}
	res := &run.Result{Variants: []run.VariantResult{cell("1", 1, 1, 1e6), cell("8", 4, 2, 125e3), cell("64", 64, 1, 120e3)}}
	for want, s := range map[string]run.Surface{
		"knee of ring: in flight 4, threads 2 (8000/s); the best is in flight 64, threads 1 (8333/s)":                                 {Name: "ring", Best: "64", KneeLo: "8", KneeHi: "8"},
		"no knee of ring up to in flight 64, threads 1 (8333/s): throughput still grows there":                                        {Name: "ring", Best: "64", KneeLo: "64", KneeHi: "64", Open: true},
		"knee of ring: between in flight 1, threads 1 (1000/s) and in flight 64, threads 1 (8333/s); the intervals do not show where": {Name: "ring", Best: "64", KneeLo: "1", KneeHi: "64"},
		"no setting of ring was measured": {Name: "ring"},
	} {
		if got := Knee(res, &s); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

// A report of a run of version 1 is one of what was measured.
func TestReportOfVersion1(t *testing.T) {
	f, err := os.Open("../run/testdata/version1.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := run.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Text(&b, r, TextOptions{Width: 400, Details: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Promise kill, prefix: a is the fastest: b takes 1.18x its time (95 % interval 1.14 to 1.34) and survives the same: kill -9, not a power cut.",
		"Promise power, prefix: No verdict without c, which the others are compared with. c failed.",
		"too few rounds for a verdict: the budget had room for 8 of 20",
		"b: 1 of 9 blocks failed, the first with: disk full",
		"! This machine is not bare.",
		"Knee of ring: in flight 2 (2000/s).",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

var (
	killPrefix  = run.Writes(durability.Kill, durability.Prefix)
	powerPrefix = run.Writes(durability.Power, durability.Prefix)
)

// exactRun has blocks without noise: each variant takes exactly its time.
func exactRun(rounds int, variants []run.VariantResult, ns map[string]float64) *run.Run {
	res := &run.Result{ID: "s/n", Suite: "s", Name: "n", Place: "here", Variants: variants}
	for round := 1; round <= rounds; round++ {
		for _, v := range variants {
			if ns[v.Name] > 0 {
				res.Blocks = append(res.Blocks, run.Block{Variant: v.Name, Role: run.RoleTimed, Round: round, Ops: 100, Batch: 1, Wall: run.Nanos(100 * ns[v.Name])})
			}
		}
	}
	return &run.Run{Schema: run.Schema, Seed: 1, Places: []run.Place{{Name: "here"}}, Results: []*run.Result{res}, Settings: run.Settings{Rounds: rounds, Tolerance: 0.05, Test: run.TestBootstrap}}
}

func named(p run.Promise, names ...string) []run.VariantResult {
	var vs []run.VariantResult
	for _, n := range names {
		vs = append(vs, run.VariantResult{Name: n, Promise: p})
	}
	return vs
}
