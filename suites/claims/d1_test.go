package claims

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// loopTimes makes B's speedup over A depend on the experiment.
func loopTimes(speedup func(e *lab.Experiment) float64) func(*lab.Experiment, string) float64 {
	return loopsTimes(func(e *lab.Experiment, _ string) float64 { return speedup(e) })
}

// loopsTimes is loopTimes for speedups that depend on the loop too.
func loopsTimes(speedup func(e *lab.Experiment, v string) float64) func(*lab.Experiment, string) float64 {
	return func(e *lab.Experiment, v string) float64 {
		if v == variantAll {
			return 1900
		}
		return 1900 / speedup(e, v)
	}
}

// allocating gives A and both loops a number of bytes and of objects.
func (m *made) allocating(a, coded, meant float64) *made {
	return m.each(func(_ *run.Result, v *run.VariantResult) {
		n := map[string]float64{variantAll: a, variantLoopCoded: coded, variantLoop: meant}[v.Name]
		v.Metrics["alloc_bytes_per_op"], v.Metrics["allocs_per_op"] = suitetest.About(40*n), suitetest.About(n)
		v.Metrics[d1Misplaced], v.Metrics[d1FilePass] = suitetest.About(1), suitetest.About(1)
	})
}

func TestJudgeD1(t *testing.T) {
	c := claimD1()
	of := func(coded, meant float64, allocs ...float64) run.Claim {
		return judge(t, &c, in("d", "ext4").all(&c, loopsTimes(func(e *lab.Experiment, v string) float64 {
			if e.Name != "D1-fresh" {
				return 1 // other conditions are shown
			}
			if v == variantLoopCoded {
				return coded
			}
			return meant
		})).allocating(allocs[0], allocs[1], allocs[2]))
	}
	expect(t, "2x and fewer", of(2, 2, 3, 2, 2), Holds)
	expect(t, "never", of(1.2, 1.2, 3, 2, 2), DoesNotHold)
	expect(t, "slower", of(0.3, 0.3, 3, 2, 2), DoesNotHold)
	expect(t, "as meant only", of(1, 2, 3, 20, 2), Depends)
	expect(t, "faster, but never fewer", of(2, 2, 3, 20, 9), DoesNotHold)
	expect(t, "on the limit", of(2, 1842./967*0.9, 3, 2, 2), CannotTell)
	if got := of(2, 2, 3, 2, 2); !strings.Contains(got.Measured, "below the working directory") {
		t.Errorf("the wrong results are not shown: %s", got.Measured)
	}
}

// As coded an absolute path is made below the working directory, and a file is success.
func TestMakeAsCoded(t *testing.T) {
	work, away := t.TempDir(), filepath.Join(t.TempDir(), "x", "y")
	t.Chdir(work)
	if err := makeAsCoded(filepath.ToSlash(away)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(away); !errors.Is(err, os.ErrNotExist) && filepath.VolumeName(away) == "" {
		t.Errorf("as coded the absolute path is in its place: %v", err)
	}
	if err := makeAsMeant(away); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(away); err != nil || !info.IsDir() {
		t.Errorf("as meant the absolute path is missing: %v", err)
	}
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := makeAsCoded("file"); err != nil {
		t.Errorf("as coded a file in the way is no success: %v", err)
	}
}
