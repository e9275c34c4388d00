package run

import (
	"bytes"
	"fmt"
	"math"
	"testing"
)

// onSurface is a run of cells of threads by depth; ns gives the time of an
// operation in a round.
func onSurface(rounds int, depths, threads []int, ns func(x, y, round int) float64) *Run {
	res := &Result{ID: "s/n", Suite: "s", Name: "n", Place: "here"}
	for _, y := range threads {
		for _, x := range depths {
			v := VariantResult{Name: fmt.Sprintf("%dx%d", x, y), Cell: &Cell{Surface: "ring", XName: "in flight", YName: "threads", X: x, Y: y}}
			res.Variants = append(res.Variants, v)
			for round := 1; round <= rounds; round++ {
				if t := ns(x, y, round); t > 0 {
					res.Blocks = append(res.Blocks, Block{Variant: v.Name, Role: RoleTimed, Round: round, Ops: 100, Batch: 1, Wall: Nanos(100 * t)})
				}
			}
		}
	}
	return &Run{Schema: Schema, Seed: 1, Places: []Place{{Name: "here"}}, Results: []*Result{res}, Settings: Settings{Rounds: rounds, Tolerance: 0.05, Test: TestBootstrap}}
}

func surfaceOf(t *testing.T, r *Run) Surface {
	t.Helper()
	r.Analyse()
	s := r.Results[0].Surfaces
	if len(s) != 1 {
		t.Fatalf("surfaces %+v", s)
	}
	return s[0]
}

// limited is a device that does 1e6/top operations a second at most.
func limited(top float64) func(x, y, round int) float64 {
	return func(x, y, _ int) float64 { return 1e6 / min(float64(x*y), top) }
}

func TestKnee(t *testing.T) {
	depths, threads := []int{1, 4, 16, 64}, []int{1, 2, 4}
	s := surfaceOf(t, onSurface(10, depths, threads, limited(8)))
	// 4 in flight in each of 2 threads are the first 8.
	if s.KneeLo != "4x2" || s.KneeHi != "4x2" {
		t.Errorf("the knee of a device that takes 8 at a time is %s to %s", s.KneeLo, s.KneeHi)
	}
	if s.Open {
		t.Errorf("it is said to gain still: %+v", s)
	}

	s = surfaceOf(t, onSurface(10, depths, threads, limited(1e9)))
	if s.KneeHi != "64x4" || !s.Open {
		t.Errorf("what always gains has a knee: %+v", s)
	}
	s = surfaceOf(t, onSurface(10, depths, threads, limited(1)))
	if s.KneeLo != "1x1" || s.KneeHi != "1x1" {
		t.Errorf("what never gains: %+v", s)
	}
}

// 4 % less is the knee and 6 % less is not.
func TestKneeShare(t *testing.T) {
	at := func(share float64) Surface {
		return surfaceOf(t, onSurface(10, []int{1, 2, 4}, []int{1}, func(x, _, _ int) float64 {
			return map[int]float64{1: 1000, 2: 100 / share, 4: 100}[x]
		}))
	}
	if s := at(0.96); s.KneeHi != "2x1" || s.Best != "4x1" {
		t.Errorf("96 %%: %+v", s)
	}
	if s := at(0.94); s.KneeLo != "4x1" || s.KneeHi != "4x1" {
		t.Errorf("94 %%: %+v", s)
	}
}

// Where blocks differ more than the cells do, no single one is named.
func TestKneeDoesNotNameNoise(t *testing.T) {
	s := surfaceOf(t, onSurface(10, []int{1, 2, 4, 8}, []int{1}, func(x, _, round int) float64 {
		base := map[int]float64{1: 1000, 2: 108, 4: 104, 8: 100}[x]
		return base * (1 + 0.3*math.Sin(float64(7*round+x)))
	}))
	if s.KneeLo == "1x1" || s.KneeLo == s.KneeHi {
		t.Errorf("in noise: %+v", s)
	}
	// Two rounds give no interval: nothing is ruled out, and nothing shown but
	// that the best is the best.
	s = surfaceOf(t, onSurface(1, []int{1, 2}, []int{1}, limited(9)))
	if s.KneeLo != "1x1" || s.KneeHi != "2x1" {
		t.Errorf("without intervals: %+v", s)
	}
	// A baseline that is 50 % from itself.
	r := onSurface(10, []int{1, 2}, []int{1}, func(x, _, _ int) float64 { return 120 / float64(x) * float64(x) * (1 + 0.2/float64(x)) })
	for round := 1; round <= 10; round++ {
		r.Results[0].Blocks = append(r.Results[0].Blocks, Block{Variant: "1x1", Role: RoleCalibration, Round: round, Ops: 100, Batch: 1, Wall: 100 * 216})
	}
	if s := surfaceOf(t, r); s.KneeHi != "1x1" {
		t.Errorf("9 %% within a noise of 50 %%: %+v", s)
	}
}

func TestSurfaceWithoutMeasurement(t *testing.T) {
	r := onSurface(10, []int{1, 2}, []int{1}, func(x, _, _ int) float64 { return 0 })
	if s := surfaceOf(t, r); s.Best != "" || s.KneeHi != "" {
		t.Errorf("nothing: %+v", s)
	}
	r = onSurface(10, []int{1, 2, 4}, []int{1}, limited(2))
	r.Results[0].Variants[1].Error = "no io_uring" // 2x1
	if s := surfaceOf(t, r); s.KneeHi != "4x1" {
		t.Errorf("a failed cell is the knee: %+v", s)
	}
}

// Cells and knees go into the JSON, and are derived anew from it.
func TestSurfaceInJSON(t *testing.T) {
	r := onSurface(10, []int{1, 2, 4}, []int{1}, limited(2))
	want := surfaceOf(t, r)
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	back, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if back.Results[0].Surfaces[0] != want {
		t.Errorf("read %+v, wrote %+v", back.Results[0].Surfaces[0], want)
	}
	back.Results[0].Surfaces = nil
	if got := surfaceOf(t, back); got != want {
		t.Errorf("derived %+v, want %+v", got, want)
	}
}
