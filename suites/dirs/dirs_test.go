package dirs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// Each Stele variant of level Power has a baseline that promises the same.
func TestPowerIsComparedWithPower(t *testing.T) {
	for _, e := range Full() {
		power := run.Writes(durability.Power, durability.Prefix)
		if base := e.BaselineFor(power); base == nil || !strings.HasPrefix(base.Name, "os.MkdirAll") {
			t.Errorf("%s compares level Power with %v", e.ID(), base)
		}
	}
}

// Every variant makes the tree that the baseline makes from the same seed.
func TestVariantsMakeTheSameTree(t *testing.T) {
	for _, e := range Full() {
		e := shrink(e)
		t.Run(e.ID(), func(t *testing.T) {
			t.Parallel()
			var want []string
			for i := range e.Variants {
				v := &e.Variants[i]
				dir := t.TempDir()
				ops := int64(6)
				switch {
				case v.Promise.Level == durability.Power || e.Params["paths"] != "":
					ops = 2
				case e.Params["goroutines"] != "":
					ops = 130 // more than two directories of 64
				}
				if _, err := lab.RunOnce(t.Context(), &e, v, dir, ops, 7); err != nil {
					t.Errorf("%s: %v", v.Name, err)
					continue
				}
				got := suitetest.Tree(t, dir)
				if i == 0 || v.Baseline { // those of level Power do other numbers of operations
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s made %d directories, the baseline %d, or others", v.Name, len(got), len(want))
				}
				if len(got) < int(ops) && !e.Stateless {
					t.Errorf("%s made only %d directories in %d operations", v.Name, len(got), ops)
				}
			}
		})
	}
}

// shrink makes batches small enough for a test.
func shrink(e lab.Experiment) lab.Experiment {
	if e.Params["paths"] != "" {
		e.Params = run.Params{"paths": "100"}
	}
	return e
}

// A way that fails must not pass for a fast one.
func TestAFailingWayIsAnError(t *testing.T) {
	e := Full()[0]
	for i := range e.Variants {
		dir := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(dir, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[i], dir, 1, 7); err == nil {
			t.Errorf("%s gave no error below a file", e.Variants[i].Name)
		}
	}
}

func TestWrongParameterIsAnError(t *testing.T) {
	e := shrink(Quick()[0])
	for _, n := range []string{"0", "-1", "many", "100000"} {
		e.Params = run.Params{"paths": n}
		if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 1, 7); err == nil {
			t.Errorf("paths=%s gave no error", n)
		}
	}
}
