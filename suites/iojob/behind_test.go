package iojob

import (
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// A job whose operations come faster than it does them is named. One that is slow and
// keeps up is not.
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
	for _, c := range []struct {
		name    string
		latency func(i int) time.Duration
		done    int64 // operations a second, of a job that does not keep up; else 0
	}{
		{"fast", func(int) time.Duration { return 100 * time.Microsecond }, 0},
		{"slow", func(int) time.Duration { return 200 * time.Millisecond }, 0},
		{"behind", func(i int) time.Duration { return time.Duration(i+1) * 250 * time.Microsecond }, 800},
	} {
		res := &run.Result{ID: "io/jobs", Suite: "io", Name: "jobs", Place: "here", Blocks: blocks(c.name, c.latency),
			Variants: []run.VariantResult{{Name: c.name, Promise: run.WritesNothing()}}}
		r := &run.Run{Schema: run.Schema, Seed: 1, Places: []run.Place{{Name: "here"}}, Results: []*run.Result{res},
			Settings: run.Settings{Rounds: rounds, Tolerance: 0.05, Test: run.TestBootstrap}}
		r.Analyse()
		got := Behind(res)
		switch {
		case c.done == 0 && got != nil:
			t.Errorf("%s keeps up, and yet: %+v", c.name, got)
		case c.done > 0 && (len(got) != 1 || got[0].Text != c.name || got[0].Place != "here" || got[0].N != c.done || got[0].Of != rate):
			t.Errorf("%s: %+v; want one note, %d of %d", c.name, got, c.done, rate)
		}
		res.Blocks = nil
		if got := Behind(res); got != nil {
			t.Errorf("%s, without a block: %+v", c.name, got)
		}
	}
}
