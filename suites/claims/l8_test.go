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
	of := func(kib float64, faster, hits, waste func(v string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			if v == l8Kernel || e.Params["load"] != l8Random {
				return 1e6
			}
			return 1e6 / faster(v)
		})
		return judge(t, &c, m.sized(l8File).each(func(r *run.Result, v *run.VariantResult) {
			v.Metrics["hit_share"], v.Metrics["wasted_share"], v.Metrics["read_ahead_kb"] = suitetest.About(0.5), suitetest.About(0.5), suitetest.About(kib)
			if v.Name != l8Kernel && r.Params["load"] == l8Random {
				v.Metrics["hit_share"], v.Metrics["wasted_share"] = suitetest.About(0.5*hits(v.Name)), suitetest.About(0.5/waste(v.Name))
			}
		}))
	}
	is := func(x float64) func(string) float64 { return func(string) float64 { return x } }
	meant := func(yes, no float64) func(string) float64 {
		return func(v string) float64 {
			if v == l8Meant {
				return yes
			}
			return no
		}
	}
	expect(t, "as claimed", of(128, is(3), is(1.5), is(5)), Holds)
	expect(t, "a little more hits, and less waste", of(128, is(3), is(1.2), is(1.2)), Holds)
	expect(t, "as claimed, with another readahead of the device", of(4096, is(3), is(1.5), is(5)), CannotTest)
	expect(t, "nothing", of(128, is(1), is(1), is(1)), DoesNotHold)
	expect(t, "faster only", of(128, is(3), is(1), is(5)), DoesNotHold)
	expect(t, "as meant", of(128, meant(3, 0.1), meant(1.5, 1), meant(5, 0.5)), Depends)
	expect(t, "on the limit", of(128, is(8.7/3.2*(1-slack)), is(1.5), is(5)), CannotTell)
}

// The published window is small only where the offsets hardly move: random reads of a large
// file get 64 KiB or megabytes.
func TestL8CodedWindow(t *testing.T) {
	every := func(step int64) (offsets []int64) {
		for i := range int64(8) {
			offsets = append(offsets, 1000+i*step)
		}
		return offsets
	}
	for _, c := range []struct {
		name    string
		offsets []int64
		speed   float64
		want    int64
	}{
		{"4 KiB in a row, fast", every(4), 100e6, 16},
		{"4 KiB in a row, slow", every(4), 10e6, 64},
		{"the same place", every(0), 10e6, 32},
		{"large strides, fast", every(10_000), 100e6, 2048},
		{"far apart, slow", every(10_000), 10e6, 20_000},
		{"backward", every(-10), 10e6, 64},
		{"the first", every(4)[:3], 10e6, 32},
	} {
		if got := codedWindow(c.offsets, c.speed); got != c.want {
			t.Errorf("%s: %d KiB, want %d", c.name, got, c.want)
		}
	}
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

// The window is read ahead at each read, and pages that are never read are wasted.
func TestL8CountsHitsAndWaste(t *testing.T) {
	e := l8(Small, l8Loads[0])
	b, err := lab.RunOnce(t.Context(), &e, e.Variant(l8Coded), t.TempDir(), 1, 7)
	if b.Unsupported {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// One cold read of 4 KiB fetches 32 KiB, or less at the end.
	if b.Metrics["hit_share"] != 0 || b.Metrics["wasted_share"] < 0.5 || b.Metrics["wasted_share"] >= 1 {
		t.Errorf("one read: hits %v, wasted %v", b.Metrics["hit_share"], b.Metrics["wasted_share"])
	}
}
