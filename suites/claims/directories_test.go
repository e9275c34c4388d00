package claims

import (
	"math"
	"os"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// Each variant of each claim does its job, with few operations, and leaves
// the working directory as it was.
func TestClaimsRun(t *testing.T) {
	was, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	for _, c := range Directories() {
		for _, e := range c.Experiments {
			// Of D5's grid the small batches do; D7's jobs are for tests alike.
			if done[e.ID()] || e.Params["n"] != "" && e.Params["n"] != "64" ||
				e.Name == "D7" && e.Params["jobs"] != "4" {
				continue
			}
			done[e.ID()] = true
			for i := range e.Variants {
				v := &e.Variants[i]
				ops := int64(3)
				if c.ID == "D6" {
					ops = 10_000
				}
				dir := t.TempDir()
				b, err := lab.RunOnce(t.Context(), &e, v, dir, ops, 7)
				for try := 0; try < 5 && err == nil && e.Name == "D9" && !nearTruth(t, &e, b); try++ {
					b, err = lab.RunOnce(t.Context(), &e, v, dir, ops, 7) // something else had the processor
				}
				if err != nil {
					if v.Name == variantAIO {
						t.Logf("%s cannot run here: %v", v.Name, err)
						continue
					}
					t.Errorf("%s: %v", e.ID(), err)
					continue
				}
				checkClaimTree(t, &e, v, dir, ops, b)
			}
		}
	}
	if now, err := os.Getwd(); err != nil || now != was {
		t.Errorf("the working directory is %s, was %s", now, was)
	}
}

// checkClaimTree looks at what a block left and reported.
func checkClaimTree(t *testing.T, e *lab.Experiment, v *lab.Variant, dir string, ops int64, b run.Block) {
	t.Helper()
	entries := func(path string) int64 {
		list, err := os.ReadDir(dir + "/" + path)
		if err != nil {
			t.Errorf("%s %s: %v", e.ID(), v.Name, err)
		}
		return int64(len(list))
	}
	switch {
	case e.Name == "D1-fresh" || e.Name == "D1-depth":
		if n := entries("tmp"); n != ops {
			t.Errorf("%s %s made %d paths, want %d", e.ID(), v.Name, n, ops)
		}
	case e.Name == "D1-existing":
		if n := entries("tmp"); n != 1 {
			t.Errorf("%s %s made %d paths, want 1", e.ID(), v.Name, n)
		}
	case e.Name == "D3":
		if n := entries("."); n != ops {
			t.Errorf("%s %s left %d files, want %d", e.ID(), v.Name, n, ops)
		}
	case e.Name == "D4-many":
		path := map[string]string{variantFile4: "a/b/c", variantMkdir3: "a/b", variantLevels3: "."}[v.Name]
		if n := entries(path); n != ops {
			t.Errorf("%s %s left %d entries in %s, want %d", e.ID(), v.Name, n, path, ops)
		}
	case e.Name == "D5" && v.Name == variantSorted:
		// A stat and a mkdir for each distinct prefix, and a stat that finds
		// the root.
		n, depth := suitetest.Int(t, e.Params["n"]), suitetest.Int(t, e.Params["depth"])
		distinct := len(suitetest.Prefixes(sharedPaths(n, depth)))
		if got := b.Metrics["path_calls_per_op"]; got != float64(2*distinct+1) {
			t.Errorf("%s: %v calls, want %d", e.ID(), got, 2*distinct+1)
		}
		if got := int64(len(suitetest.Tree(t, dir))) - 1; got != ops*int64(distinct+1) {
			t.Errorf("%s made %d directories, want %d", e.ID(), got, ops*int64(distinct+1))
		}
	case e.Name == "D5":
		if got, want := len(suitetest.Tree(t, dir))-1, int(ops)*(1+len(suitetest.Prefixes(sharedPaths(suitetest.Int(t, e.Params["n"]), suitetest.Int(t, e.Params["depth"]))))); got != want {
			t.Errorf("%s %s made %d directories, want %d", e.ID(), v.Name, got, want)
		}
	case e.Name == "D8":
		umask := 0o777 &^ int(b.Metrics["mode_of_0777"])
		info, err := os.Stat(dir + "/a/b/c")
		if err != nil {
			t.Fatal(err)
		}
		if got := int(info.Mode().Perm()); got|umask != permOf(t, e)|umask {
			t.Errorf("%s: the leaf has %04o", e.ID(), got)
		}
	case e.Name == "D9":
		if !nearTruth(t, e, b) {
			t.Errorf("%s: the operation took %.1f ns", e.ID(), b.Metrics["truth_ns"])
		}
		for _, way := range []string{subtractThree, subtractThousand, chainedReadings} {
			if x, ok := b.Metrics[way+"_error"]; !ok || math.IsNaN(x) {
				t.Errorf("%s reports no error of %s", e.ID(), way)
			}
		}
	}
}
