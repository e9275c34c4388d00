package iojob

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// A job whose operations come faster than it does them is named. One that is slow and
// keeps up is not, and neither is one of a closed model.
func TestBehind(t *testing.T) {
	const rounds, rate = 8, 1000
	blocks := func(name string, latency func(i int) time.Duration) (list []run.Block) {
		for round := 1; round <= rounds; round++ {
			const ops = 250
			b := run.Block{Variant: name, Role: run.RoleTimed, Round: round, Ops: ops, Batch: 1, Metrics: map[string]float64{metricOffered: rate}}
			for i := range ops {
				arrived := time.Duration(i+1) * time.Second / rate
				b.Response += run.Nanos(latency(i))
				b.Wall = max(b.Wall, run.Nanos(arrived+latency(i)))
			}
			list = append(list, b)
		}
		return list
	}
	for want, latency := range map[string]func(i int) time.Duration{
		"":                       func(int) time.Duration { return 100 * time.Microsecond },
		"slow":                   func(int) time.Duration { return 200 * time.Millisecond },
		"800 of the 1000 operat": func(i int) time.Duration { return time.Duration(i+1) * 250 * time.Microsecond },
	} {
		res := &run.Result{ID: "io/jobs", Suite: "io", Name: "jobs", Place: "here", Blocks: blocks("j", latency),
			Variants: []run.VariantResult{{Name: "j", Promise: run.WritesNothing()}}}
		r := &run.Run{Schema: run.Schema, Seed: 1, Places: []run.Place{{Name: "here"}}, Results: []*run.Result{res},
			Settings: run.Settings{Rounds: rounds, Tolerance: 0.05, Test: run.TestBootstrap}}
		r.Analyse()
		got := Behind(res)
		if !strings.HasPrefix(want, "800") {
			if got != nil {
				t.Errorf("%q keeps up, and yet: %q", want, got)
			}
			continue
		}
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q; want one sentence with %q", got, want)
		}
		res.Blocks = slices.DeleteFunc(res.Blocks, func(b run.Block) bool { return b.Round > 0 })
		if got := Behind(res); got != nil {
			t.Errorf("without a block: %q", got)
		}
	}
}
