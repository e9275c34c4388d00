package claims

import (
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL8(t *testing.T) {
	c := claimL8(1)
	of := func(faster, hits, waste func(load string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			if v == l8Follows {
				return 1e6 / faster(e.Params["load"])
			}
			return 1e6
		})
		return judge(t, &c, m.sized(l8File).each(func(r *run.Result, v *run.VariantResult) {
			load := r.Params["load"]
			v.Metrics["hit_share"], v.Metrics["wasted_share"] = suitetest.About(0.5), suitetest.About(0.5)
			if v.Name == l8Follows {
				v.Metrics["hit_share"], v.Metrics["wasted_share"] = suitetest.About(0.5*hits(load)), suitetest.About(0.5/waste(load))
			}
		}))
	}
	is := func(x float64) func(string) float64 { return func(string) float64 { return x } }
	inRuns := func(yes, no float64) func(string) float64 {
		return func(load string) float64 {
			if load == l8Runs {
				return yes
			}
			return no
		}
	}
	expect(t, "as claimed", of(is(3), is(1.5), is(5)), Holds)
	expect(t, "nothing", of(is(1), is(1), is(1)), DoesNotHold)
	expect(t, "where there is a pattern", of(inRuns(3, 1), inRuns(1.5, 1), inRuns(5, 1)), Depends)
	expect(t, "on the limit", of(is(8.7/3.2*(1-slack)), is(1.5), is(5)), CannotTell)
}

// Runs go forward and backward in turn, and no read leaves the file.
func TestL8OffsetsOfRuns(t *testing.T) {
	const size = 64 * datafile.PageSize
	e := lab.Experiment{Suite: "test", Name: "offsets", Ops: 1}
	v := lab.Variant{Name: "v", Run: func(b *lab.B) error {
		next := readsInRuns(b, size)
		var offs []int64
		for i := range int64(4 * l8Run) {
			offs = append(offs, next(i))
		}
		for i, off := range offs {
			if off < 0 || off > size-datafile.PageSize || off%datafile.PageSize != 0 {
				t.Errorf("read %d is at %d", i, off)
			}
			step := int64(datafile.PageSize)
			if i/l8Run%2 == 1 {
				step = -step
			}
			if i%l8Run > 0 && off-offs[i-1] != step {
				t.Errorf("read %d goes %d bytes on, want %d", i, off-offs[i-1], step)
			}
		}
		for b.Loop() {
		}
		return nil
	}}
	if _, err := lab.RunOnce(t.Context(), &e, &v, t.TempDir(), 1, 7); err != nil {
		t.Fatal(err)
	}
}

// A prefetches at each read, and pages that are never read are wasted.
func TestL8CountsHitsAndWaste(t *testing.T) {
	e := l8(Small, l8Loads[0])
	b, err := lab.RunOnce(t.Context(), &e, e.Variant(l8Fixed), t.TempDir(), 1, 7)
	if b.Unsupported {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// One cold read of 4 KiB fetches 128 KiB, or less at the end.
	if b.Metrics["hit_share"] != 0 || b.Metrics["wasted_share"] < 0.5 || b.Metrics["wasted_share"] >= 1 {
		t.Errorf("one read: hits %v, wasted %v", b.Metrics["hit_share"], b.Metrics["wasted_share"])
	}
}
