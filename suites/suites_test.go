package suites

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
)

func TestEveryExperimentCanBeRun(t *testing.T) {
	for _, s := range List() {
		seen := map[string]bool{}
		for _, e := range s.Full {
			if err := e.Validate(); err != nil {
				t.Error(err)
			}
			if e.Suite != s.Name {
				t.Errorf("%s is in suite %s", e.ID(), s.Name)
			}
			if seen[e.ID()] {
				t.Errorf("two experiments are %s", e.ID())
			}
			seen[e.ID()] = true
			checkWords(t, &e)
		}
		for _, c := range s.Claims {
			own := map[string]bool{}
			for _, e := range c.Experiments {
				if err := e.Validate(); err != nil {
					t.Error(err)
				}
				if own[e.ID()] {
					t.Errorf("%s has %s twice", c.ID, e.ID())
				}
				own[e.ID()] = true
				checkWords(t, &e)
			}
			if len(c.Experiments) == 0 || c.Statement == "" || c.Claimed == "" || c.Promise == "" {
				t.Errorf("claim %s is not complete", c.ID)
			}
			if (c.verdict == nil) == (c.across == nil) {
				t.Errorf("claim %s needs exactly one rule", c.ID)
			}
		}
	}
}

func checkWords(t *testing.T, e *lab.Experiment) {
	if e.Question == "" || e.Op == "" {
		t.Errorf("%s says not what it asks or what an operation is", e.ID())
	}
	for _, v := range e.Variants {
		if v.Doc == "" {
			t.Errorf("%s: %s says not how it works", e.ID(), v.Name)
		}
	}
}

func TestQuickIsPartOfFull(t *testing.T) {
	for _, s := range List() {
		if len(s.Quick) != 1 || len(s.Quick[0].Variants) > 4 || len(s.Quick[0].Variants) < 2 {
			t.Fatalf("suite %s: the quick set is not one experiment of two to four variants", s.Name)
		}
		q := s.Quick[0]
		i := slices.IndexFunc(s.Full, func(e lab.Experiment) bool { return e.ID() == q.ID() })
		if i < 0 {
			t.Fatalf("%s is not in the full set", q.ID())
		}
		for _, v := range q.Variants {
			if s.Full[i].Variant(v.Name) == nil {
				t.Errorf("%s: the full set has no %q", q.ID(), v.Name)
			}
		}
		if !q.Variants[0].Baseline {
			t.Errorf("%s has lost its baseline", q.ID())
		}
	}
}

// Each Stele variant of level Power has a baseline that promises the same.
func TestPowerIsComparedWithPower(t *testing.T) {
	for _, e := range mkdirFull() {
		power := durability.Promise{Level: durability.Power, After: durability.Prefix}
		if base := e.BaselineFor(power); base == nil || !strings.HasPrefix(base.Name, "os.MkdirAll") {
			t.Errorf("%s compares level Power with %v", e.ID(), base)
		}
	}
}

// Every variant makes the tree that the baseline makes from the same seed.
func TestVariantsMakeTheSameTree(t *testing.T) {
	for _, e := range mkdirFull() {
		e := shrink(e)
		t.Run(e.ID(), func(t *testing.T) {
			t.Parallel()
			var want []string
			for i := range e.Variants {
				v := &e.Variants[i]
				dir := t.TempDir()
				ops := int64(6)
				switch {
				case v.Promise.Level == durability.Power || strings.HasPrefix(e.Name, "batch"):
					ops = 2
				case e.Name == "overlap":
					ops = 130 // more than two folders of 64
				}
				if _, err := lab.RunOnce(t.Context(), &e, v, dir, ops, 7); err != nil {
					t.Errorf("%s: %v", v.Name, err)
					continue
				}
				got := tree(t, dir)
				if i == 0 || v.Baseline { // those of level Power do other numbers of operations
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s made %d directories, the baseline %d, or others", v.Name, len(got), len(want))
				}
				if len(got) < int(ops) && e.Name != "existing" {
					t.Errorf("%s made only %d directories in %d operations", v.Name, len(got), ops)
				}
			}
		})
	}
}

// shrink makes batches small enough for a test.
func shrink(e lab.Experiment) lab.Experiment {
	if e.Params["paths"] != "" {
		e.Params = lab.Params{"paths": "100"}
	}
	return e
}

func tree(t *testing.T, root string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		list = append(list, rel)
		if !d.IsDir() {
			t.Errorf("%s is no directory", rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A way that fails must not pass for a fast one.
func TestAFailingWayIsAnError(t *testing.T) {
	e := mkdirFull()[0]
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
	e := shrink(mkdirQuick()[0])
	for _, n := range []string{"0", "-1", "many", "100000"} {
		e.Params = lab.Params{"paths": n}
		if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 1, 7); err == nil {
			t.Errorf("paths=%s gave no error", n)
		}
	}
}
