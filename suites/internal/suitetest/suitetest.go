// Package suitetest helps to test experiments.
package suitetest

import (
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// Int parses a number.
func Int(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// About returns an estimate with a narrow interval.
func About(x float64) run.Estimate { return Wide(x, 0.01) }

// Wide returns an estimate whose interval is x plus and minus a share of it.
func Wide(x, share float64) run.Estimate {
	d := math.Abs(x) * share
	return run.Estimate{Median: x, Lo: x - d, Hi: x + d, Confidence: 0.95, N: 10}
}

// Smaller makes what an experiment of suite newfile prepares small enough for
// a test.
func Smaller(e lab.Experiment) lab.Experiment {
	p := run.Params{}
	for k, v := range e.Params {
		switch k {
		case "left":
			v = "50"
		case "files":
			v = "20"
		}
		p[k] = v
	}
	e.Params = p
	return e
}

// RegularFiles returns the content of the files below root, by name, without those that
// warm up subdirectories or were left over.
func RegularFiles(t *testing.T, root string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "left-over-") {
			return err
		}
		found[d.Name()], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// RunOnce does one block. It returns nil, and the reason, if this place cannot do it
// that way.
func RunOnce(t *testing.T, e *lab.Experiment, v *lab.Variant, dir string, ops int64) (*run.Block, string) {
	t.Helper()
	b, err := lab.RunOnce(t.Context(), e, v, dir, ops, 7)
	if b.Unsupported {
		t.Logf("%s: %v", e.ID(), err)
		return nil, err.Error()
	}
	if err != nil {
		t.Errorf("%s: %v", e.ID(), err)
		return nil, ""
	}
	return &b, ""
}

// Tree returns the directories below root, and fails for other files.
func Tree(t *testing.T, root string) []string {
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

// Prefixes returns every directory that making the paths makes.
func Prefixes(paths []string) map[string]bool {
	all := map[string]bool{}
	for _, p := range paths {
		for ; p != "." && p != "/" && !all[p]; p = path.Dir(p) {
			all[p] = true
		}
	}
	return all
}

// MemoryDir returns a new directory, in memory if possible, where syncs take no time.
func MemoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "stele-suites-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
