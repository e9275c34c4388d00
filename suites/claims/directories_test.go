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
	"D1-fresh":    leavesEntries("tmp"),
	"D1-half":     leavesEntries("tmp"),
	"D1-existing": leavesEntries("tmp"),
	"D1-depth": func(t *testing.T, e *lab.Experiment, dir string, ops int64, b run.Block) {
		leavesEntries(map[bool]string{true: ".", false: "tmp"}[e.Params["depth"] == "1"])(t, e, dir, ops, b)
	},
	"D1-wrong": func(t *testing.T, _ *lab.Experiment, _ string, _ int64, b run.Block) {
		for metric, want := range map[string]bool{d1Misplaced: b.Variant == variantLoopCoded, d1FilePass: b.Variant != variantAll} {
			if got := b.Metrics[metric] == 1; got != want {
				t.Errorf("%s: %s is %v", b.Variant, metric, got)
			}
		}
	},
	"D3":        leavesEntries("."),
	"D3-strace": leavesEntries("."),
	"D4-warm": func(t *testing.T, e *lab.Experiment, dir string, ops int64, b run.Block) {
		path := map[string]string{variantFile4: "a/b/c", variantFileHere: "a/b/c", variantMkdir3: "a/b", variantMkdirHere: "a/b"}[b.Variant]
		leavesEntries(path)(t, e, dir, ops, b)
	},
	"D4-cold": leavesEntries("."),
	"D5":      checkD5,
	"D8":      checkD8,
	"D9":      checkD9,
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
		// Each experiment once; 4 jobs do for D7, 16 goroutines for D6.
		c.Experiments = slices.DeleteFunc(c.Experiments, func(e lab.Experiment) bool {
			had := done[e.ID()]
			done[e.ID()] = true
			return had || cmp.Or(e.Params["jobs"], "4") != "4" || cmp.Or(e.Params["goroutines"], "16") != "16"
		})
		const ops = 3
		runClaims(t, []Claim{c}, ops, func(t *testing.T, e *lab.Experiment, dir string, b run.Block) {
			if check := treeChecks[e.Name]; check != nil {
				check(t, e, dir, ops, b)
			}
		})
	}
}
