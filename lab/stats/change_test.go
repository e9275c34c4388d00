package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMidranks(t *testing.T) {
	if got, want := midranks([]float64{3, 1, 3, 2}), []float64{3.5, 1, 3.5, 2}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestChangePoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	level := func(parts ...float64) []float64 { // ten samples at each level
		var x []float64
		for _, p := range parts {
			for i := range 10 {
				x = append(x, p+0.01*float64(i*7%10))
			}
		}
		return x
	}
	for _, c := range []struct {
		name string
		x    []float64
		want []int
	}{
		{"none", nil, nil},
		{"short", []float64{1, 1, 1, 9, 9, 9, 9}, nil},
		{"constant", make([]float64, 30), nil},
		{"one step", level(1, 2), []int{10}},
		{"two steps", level(1, 2, 3), []int{10, 20}},
		{"up and down", level(1, 2, 1, 1), []int{10, 20}},
		{"a wild sample", append(level(1), 100), nil},
	} {
		var at []int
		for _, p := range ChangePoints(c.x, 0.05, rng) {
			at = append(at, p.At)
			if !(p.P > 0 && p.P <= 0.05) {
				t.Errorf("%s: p = %v", c.name, p.P)
			}
		}
		if !slices.Equal(at, c.want) {
			t.Errorf("%s: changes at %v, want %v", c.name, at, c.want)
		}
	}
}

// Series without a change have one in about alpha of all cases, also with wild samples;
// a step of 10 % in noise of 4 % is found, near its place.
func TestChangePointsFalseAlarmsAndPower(t *testing.T) {
	const trials, alpha = 400, 0.05
	rng := rand.New(rand.NewPCG(4, 4))
	series := func(n, step int, by float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = math.Exp(0.04 * rng.NormFloat64())
			if rng.IntN(25) == 0 {
				x[i] *= 1.5 // a wild run
			}
			if i >= step {
				x[i] *= by
			}
		}
		return x
	}
	for _, n := range []int{8, 12, 30} {
		alarms := 0
		for range trials {
			if len(ChangePoints(series(n, n, 1), alpha, rng)) > 0 {
				alarms++
			}
		}
		t.Logf("%d runs without a change: %d of %d alarms", n, alarms, trials)
		if alarms > trials*alpha*2 { // 4.6 standard errors
			t.Errorf("%d runs without a change: %d of %d alarms, want %v of all", n, alarms, trials, alpha)
		}
	}
	found, near, more := 0, 0, 0
	for range trials / 4 {
		points := ChangePoints(series(30, 18, 1.15), alpha, rng)
		if len(points) > 0 {
			found++
			more += len(points) - 1
			if math.Abs(float64(points[0].At-18)) <= 2 {
				near++
			}
		}
	}
	t.Logf("a step of 15 %% after 18 of 30 runs: found in %d of %d, near its place in %d; %d more changes", found, trials/4, near, more)
	if found < 95 || near < 85 || more > 15 {
		t.Errorf("a step of 15 %% after 18 of 30 runs: found in %d of %d, near its place in %d", found, trials/4, near)
	}
}
