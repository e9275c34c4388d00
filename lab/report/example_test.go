package report_test

import (
	"fmt"
	"math"
	"os"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
)

// A run usually comes from the lab, or from a file that it wrote.
func ExampleGoBench() {
	kill := run.Writes(durability.Kill, durability.Prefix)
	got := &run.Run{Version: "v0.1.0", Seed: 7, Started: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), Results: []*run.Result{{
		ID: "mkdir/fresh-7", Suite: "mkdir", Name: "fresh-7",
		Variants: []run.VariantResult{{Name: "os.MkdirAll", Promise: kill, Time: run.Estimate{Median: 40e3, Lo: math.NaN(), Hi: math.NaN(), N: 1}}},
		Blocks:   []run.Block{{Variant: "os.MkdirAll", Role: run.RoleTimed, Ops: 1000, Wall: 40e6, Metrics: map[string]float64{"allocs_per_op": 13}}},
	}}}
	if err := report.GoBench(os.Stdout, got); err != nil {
		fmt.Println(err)
	}
	// Output:
	// # Stele v0.1.0, seed 7, started 2026-03-14T09:26:53Z
	// pkg: mkdir
	// BenchmarkMkdir/fresh-7/variant=os.MkdirAll/after=prefix/level=kill	1000	40000 ns/op	13 allocs/op
}
