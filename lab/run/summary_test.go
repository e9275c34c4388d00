package run

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/stele-go/stele/durability"
)

// summaryRun has results whose blocks take the given times, in ns, without noise but
// where a variant's name ends in "~": that one takes half as long again in odd rounds.
func summaryRun(ns ...map[string]float64) *Run {
	r := &Run{Seed: 1, Settings: Settings{Rounds: 8, Tolerance: 0.05, Test: TestBootstrap}}
	for i, of := range ns {
		res := &Result{ID: []string{"s/a", "s/b", "s/c"}[i], Suite: "s", Name: []string{"a", "b", "c"}[i], Place: "here"}
		for _, name := range []string{"base", "x", "y", "x~"} {
			if of[name] == 0 {
				continue
			}
			res.Variants = append(res.Variants, VariantResult{Name: name, Promise: Writes(durability.Kill, durability.OldOrNew), Baseline: name == "base"})
			for round := 1; round <= 8; round++ {
				wall := 100 * of[name]
				if name == "x~" && round%2 == 1 {
					wall *= 1.5
				}
				res.Blocks = append(res.Blocks, Block{Variant: name, Role: RoleTimed, Round: round, Start: Nanos(round) * 1e9, Ops: 100, Batch: 1, Wall: Nanos(wall)})
			}
		}
		r.Results = append(r.Results, res)
	}
	r.Analyse()
	return r
}

func TestSummaryRows(t *testing.T) {
	s := summaryRun(
		map[string]float64{"base": 100, "x": 50, "y": 51},
		map[string]float64{"base": 100, "x": 101, "x~": 80},
		map[string]float64{"base": 100, "x": 125},
	).Summary()
	if len(s.Rows) != 3 {
		t.Fatalf("%d rows", len(s.Rows))
	}
	won, unclear, stay := s.Rows[0], s.Rows[1], s.Rows[2]
	if won.Kind != FoundWinner || won.Way != "x" || won.Against != "base" || won.Ratio.Median != 0.5 || len(won.Same) != 1 || won.Same[0] != "y" || won.Time.Median != 50 {
		t.Errorf("a winner: %+v", won)
	}
	if unclear.Kind != FoundUnclear || unclear.Ratio != nil || unclear.Visible <= 0 || len(unclear.Unclear) != 1 || unclear.Unclear[0] != "x~" {
		t.Errorf("no verdict: %+v", unclear)
	}
	if stay.Kind != FoundBest || stay.Way != "base" || stay.Against != "x" || math.Abs(stay.Ratio.Median-0.8) > 1e-9 || stay.Ratio.Lo > stay.Ratio.Hi {
		t.Errorf("the baseline is fastest: %+v", stay)
	}
	if len(s.Advice) != 2 || s.Advice[0].Way != "x" || s.Advice[0].Stay || !s.Advice[1].Stay {
		t.Errorf("advice: %+v", s.Advice)
	}
}

// What is advised in several points and places is one piece of advice, with the range of
// the ratios.
func TestAdviceJoinsPoints(t *testing.T) {
	r := summaryRun(map[string]float64{"base": 100, "x": 50}, map[string]float64{"base": 100, "x": 40}, map[string]float64{"base": 100, "x": 100})
	for i, res := range r.Results {
		res.Name, res.Params = "a", Params{"n": string(rune('1' + i))}
	}
	s := r.Summary()
	if len(s.Advice) != 1 {
		t.Fatalf("%+v", s.Advice)
	}
	if a := s.Advice[0]; a.N != 2 || a.Of != 3 || a.Least.Median != 0.5 || a.Most.Median != 0.4 || len(a.Experiments) != 2 || len(a.Places) != 1 {
		t.Errorf("%+v", a)
	}
}

// Settle asks for the largest number of rounds of the unclear experiments, and for none
// where no number helps.
func TestSettle(t *testing.T) {
	r := summaryRun(map[string]float64{"base": 100, "x~": 100}, map[string]float64{"base": 100, "x": 50})
	s := r.Summary()
	if s.Settle == nil || len(s.Settle.Experiments) != 1 || s.Settle.Experiments[0] != "s/a" || s.Settle.Rounds != s.Rows[0].Rounds || s.Settle.Took <= 0 {
		t.Fatalf("%+v of %+v", s.Settle, s.Rows)
	}
	r.Results[0].Findings[0].RoundsNeeded = 0
	if s := r.Summary(); s.Settle != nil {
		t.Errorf("no number of rounds settles it, and yet %+v", s.Settle)
	}
	r.Results[0].Findings[0].RoundsNeeded = mostSettleRounds + 1
	if s := r.Summary(); s.Settle != nil {
		t.Errorf("too many rounds: %+v", s.Settle)
	}
}

// The JSON has no NaN where there is no interval, and no raw data.
func TestSummaryJSON(t *testing.T) {
	r := summaryRun(map[string]float64{"base": 100, "x": 50})
	r.Results[0].Blocks = r.Results[0].Blocks[:4] // of two rounds
	r.Analyse()
	var b bytes.Buffer
	if err := r.Summary().Write(&b); err != nil {
		t.Fatal(err)
	}
	var back Summary
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Schema != summarySchema || len(back.Rows) != 1 || bytes.Contains(b.Bytes(), []byte("blocks")) {
		t.Errorf("%v, %+v from %s", err, back, b.Bytes())
	}
}
