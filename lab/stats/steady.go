package stats

import (
	"math"
	"slices"
)

// The steady-state rule of the SNIA Solid State Storage Performance Test
// Specification (definitions, "Steady State"): over a window of five rounds
// the values stay within 20 % of their mean from least to greatest, and the
// line fitted to them by least squares rises or falls by 10 % of it at most.
const (
	SteadyWindow    = 5
	steadyExcursion = 0.20
	steadySlope     = 0.10
)

// A SteadyState is the result of the rule.
type SteadyState struct {
	// Reached says that some window of SteadyWindow consecutive samples meets
	// the rule, as the standard has it, which tests after every round.
	Reached bool
	// First is the index at which the first such window starts, or the last
	// window where the rule was not met.
	First int
	// Excursion is greatest minus least over the mean, in that window.
	Excursion float64
	// Slope is the rise of the fitted line from the first to the last sample
	// of that window over its mean; negative when it falls.
	Slope float64
}

// Steady applies the steady-state rule to positive samples in the order in
// which they were taken. Fewer than SteadyWindow samples have no window, and
// give the zero value.
func Steady(x []float64) SteadyState {
	var s SteadyState
	for i := 0; i+SteadyWindow <= len(x); i++ {
		s = window(x[i : i+SteadyWindow])
		s.First = i
		if s.Reached {
			break
		}
	}
	return s
}

func window(y []float64) SteadyState {
	n := float64(len(y))
	var mean float64
	for _, v := range y {
		mean += v / n
	}
	if mean == 0 {
		return SteadyState{Reached: slices.Max(y) == slices.Min(y)}
	}
	var sxy, sxx float64
	for i, v := range y {
		dx := float64(i) - (n-1)/2
		sxy += dx * (v - mean)
		sxx += dx * dx
	}
	s := SteadyState{
		Excursion: (slices.Max(y) - slices.Min(y)) / mean,
		Slope:     sxy / sxx * (n - 1) / mean,
	}
	s.Reached = s.Excursion <= steadyExcursion && math.Abs(s.Slope) <= steadySlope
	return s
}
