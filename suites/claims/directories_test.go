package claims

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// A treeCheck looks at the files and the report of a block.
type treeCheck func(t *testing.T, e *lab.Experiment, dir string, ops int64, b run.Block)

// treeChecks has the check of an experiment by its name.
var treeChecks = map[string]treeCheck{
	"D1-fresh": leavesEntries("tmp"),
	"D1-depth": leavesEntries("tmp"),
	"D1-existing": func(t *testing.T, _ *lab.Experiment, dir string, _ int64, _ run.Block) {
		wantEntries(t, filepath.Join(dir, "tmp"), 1)
	},
	"D3": leavesEntries("."),
	"D4-many": func(t *testing.T, e *lab.Experiment, dir string, ops int64, b run.Block) {
		path := map[string]string{variantFile4: "a/b/c", variantMkdir3: "a/b", variantLevels3: "."}[b.Variant]
		leavesEntries(path)(t, e, dir, ops, b)
	},
	"D5": checkD5,
	"D8": checkD8,
	"D9": checkD9,
}

// leavesEntries checks that each operation left an entry in a directory.
func leavesEntries(path string) treeCheck {
	return func(t *testing.T, _ *lab.Experiment, dir string, ops int64, _ run.Block) {
		wantEntries(t, filepath.Join(dir, path), ops)
	}
}

// Each variant of each claim does its job, with few operations, and leaves
// the working directory as it was.
func TestClaimsRun(t *testing.T) {
	done := map[string]bool{}
	for _, c := range Directories() {
		// Each experiment once; the small batches do for D5's grid, and 4 jobs for D7.
		c.Experiments = slices.DeleteFunc(c.Experiments, func(e lab.Experiment) bool {
			had := done[e.ID()]
			done[e.ID()] = true
			return had || cmp.Or(e.Params["n"], "64") != "64" || cmp.Or(e.Params["jobs"], "4") != "4"
		})
		ops := cmp.Or(map[string]int64{"D6": 10_000}[c.ID], 3)
		runClaims(t, []Claim{c}, ops, func(t *testing.T, e *lab.Experiment, dir string, b run.Block) {
			if check := treeChecks[e.Name]; check != nil {
				check(t, e, dir, ops, b)
			}
		})
	}
}
