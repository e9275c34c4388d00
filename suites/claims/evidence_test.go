package claims

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

// A p99 without an interval decides nothing, and few operations have no p99.
func TestTail(t *testing.T) {
	block := func(role string, n int, ns int64) run.Block {
		h := run.NewHistogram()
		for range n {
			h.Record(ns)
		}
		return run.Block{Variant: "v", Role: role, Latency: h, Ops: int64(n), Batch: 1, Wall: run.Nanos(int64(n) * ns)}
	}
	look := func(blocks ...run.Block) (run.Estimate, string) {
		for i := range blocks {
			blocks[i].Round = i + 1
		}
		res := &run.Result{ID: "e", Place: "d", Variants: []run.VariantResult{{Name: "v", Promise: run.WritesNothing()}}, Blocks: blocks}
		r := &run.Run{Seed: 1, Settings: run.Settings{Tolerance: 0.05, Test: run.TestBootstrap}, Places: []run.Place{{Name: "d"}}, Results: []*run.Result{res}}
		r.Analyse()
		return (&evidence{results: map[string]*run.Result{"e": res}}).tail("e", "v")
	}
	if e, why := look(block(run.RoleTimed, 300, 1000), block(run.RoleCalibration, 300, 9000)); why != "" || !(e.Median >= 1000 && e.Median < 1010) || atLeast(e, 1) != cannotTell {
		t.Errorf("one block gives %+v, %q; want a figure without an interval", e, why)
	}
	var ten []run.Block
	for i := range 10 {
		ten = append(ten, block(run.RoleTimed, 300, 1000+10*int64(i)))
	}
	if e, why := look(ten...); why != "" || e.Lo < 1000 || e.Hi > 1100 || !(e.Lo < e.Hi) {
		t.Errorf("ten blocks give %+v, %q; want an interval", e, why)
	}
	if _, why := look(block(run.RoleTimed, 298, 1000)); !strings.Contains(why, "298") {
		t.Errorf("298 operations are refused by %q", why)
	}
	if _, why := look(); why == "" {
		t.Error("a p99 of nothing")
	}
}

func TestFailedNamesTheFirstError(t *testing.T) {
	ev := &evidence{results: map[string]*run.Result{"a": {Variants: []run.VariantResult{{}, {Error: "broken"}}}, "b": {Variants: []run.VariantResult{{}}}}}
	if got := ev.failed("a"); got != "broken" {
		t.Errorf("got %q", got)
	}
	if got := ev.failed("b"); got != "" {
		t.Errorf("got %q", got)
	}
	if got := ev.failed("c"); !strings.Contains(got, "c") {
		t.Errorf("got %q", got)
	}
	if e := ev.ratio("b", "x", "y"); !math.IsNaN(e.Median) {
		t.Errorf("a figure of nothing: %v", e)
	}
}
