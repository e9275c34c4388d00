package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/lab/run"
)

// aaExperiment sets making directories against making directories, the
// second one slowed by a share of its own time.
func aaExperiment(slowed float64) Experiment {
	mk := func(slowed float64) func(*B) error {
		return func(b *B) error {
			paths := make([]string, b.N)
			for i := range paths {
				paths[i] = filepath.Join(b.Dir, fmt.Sprint(i), "x", "y", "z")
			}
			for b.Loop() {
				start := time.Now()
				if err := os.MkdirAll(paths[b.I()], 0o777); err != nil {
					return err
				}
				if slowed > 0 {
					until := time.Duration(float64(time.Since(start)) * (1 + slowed))
					for time.Since(start) < until {
					}
				}
			}
			return nil
		}
	}
	return Experiment{
		Suite: "test", Name: fmt.Sprintf("aa-%g", slowed), Question: "Are they told apart?", Op: "one path of 4 new directories",
		Variants: []Variant{
			{Name: "a", Promise: kill, Run: mk(0)},
			{Name: "b", Promise: kill, Run: mk(slowed)},
		},
	}
}

// TestVerdictsCanBeTrusted holds the lab's verdicts against the truth on the
// disk it runs on: of 40 runs of one variant against itself at most one may
// say faster or slower, and a variant slowed by 15 % must be called slower in
// at least 18 of 20. It measures in the directory STELE_DIR or, without it and as
// root, on an ext4 image, and takes about fifteen minutes, so give go test -timeout 30m.
func TestVerdictsCanBeTrusted(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("takes fifteen minutes; set STELE_LONG=1 and -timeout 30m")
	}
	dir := os.Getenv("STELE_DIR")
	if dir == "" {
		t.Chdir(t.TempDir())
		image, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4"})
		if err != nil {
			t.Skipf("needs a journaled ext4 to measure on; set STELE_DIR to a directory on one: %v", err)
		}
		defer image.Close()
		dir = image.Path
	}
	count := func(runs int, slowed float64) map[string]int {
		verdicts := map[string]int{}
		for i := range runs {
			got, err := Measure(t.Context(), Options{
				Places: []PlaceSpec{{Dir: dir}}, BlockTime: 100 * time.Millisecond, NoCounting: true, Seed: uint64(i + 1),
			}, aaExperiment(slowed))
			if err != nil {
				t.Fatal(err)
			}
			c := got.Results[0].Comparisons[0]
			verdicts[c.Verdict]++
			t.Logf("slowed by %g, run %2d: ratio %.3f [%.3f, %.3f], tolerance %.3f: %s", slowed, i+1, c.Ratio.Median, c.Ratio.Lo, c.Ratio.Hi, c.Tolerance, c.Verdict)
		}
		t.Logf("slowed by %g: %v", slowed, verdicts)
		return verdicts
	}
	if v := count(40, 0); v[run.Faster]+v[run.Slower] > 1 {
		t.Errorf("of 40 runs of one variant against itself %d said faster and %d slower, at most 1 may", v[run.Faster], v[run.Slower])
	}
	if v := count(20, 0.15); v[run.Slower] < 18 {
		t.Errorf("slowed by 15 %%: %d of 20 runs said slower, at least 18 must", v[run.Slower])
	}
}
