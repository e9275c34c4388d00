package run

import (
	"math"

	"github.com/stele-go/stele/lab/stats"
)

// power says what a comparison without a verdict could have shown: visible, the
// smallest difference as a share of the smaller time, and the number of rounds that
// would probably settle it. Each is 0 where it cannot be said.
//
// Where there are too few rounds for an interval, both come from a rough one
// (stats.RatioRough).
func power(ratio Estimate, test, base series, tolerance float64) (seen float64, needed int) {
	if math.IsNaN(ratio.Lo) {
		both := rounds(test, base)
		ratio = estimate(stats.RatioRough(test.at(both), base.at(both), confidence))
	}
	return visible(ratio, tolerance), roundsNeeded(ratio, tolerance)
}

// visible is the smallest difference between two times, as a share of the
// smaller one, of which an interval as wide as that of ratio lies wholly
// outside the tolerance. It is 0 without an interval.
func visible(ratio Estimate, tolerance float64) float64 {
	m := (1+tolerance)*max(ratio.Median/ratio.Lo, ratio.Hi/ratio.Median) - 1
	if !(m >= 0) || math.IsInf(m, 1) {
		return 0
	}
	return m
}

// roundsNeeded is stats.RoundsNeeded, with an interval of another confidence and of
// few rounds turned into one of 95 % and many: that is how it shrinks with more.
func roundsNeeded(ratio Estimate, tolerance float64) int {
	if ratio.N < 2 || !(ratio.Lo > 0) || math.IsInf(ratio.Hi, 1) {
		return 0
	}
	shrink := stats.StudentQuantile(0.975, 1<<20) / stats.StudentQuantile((1+ratio.Confidence)/2, ratio.N-1)
	scaled := func(end float64) float64 { return ratio.Median * math.Pow(end/ratio.Median, shrink) }
	n := stats.RoundsNeeded(stats.Estimate{Value: ratio.Median, Lo: scaled(ratio.Lo), Hi: scaled(ratio.Hi), N: ratio.N}, 1/(1+tolerance), 1+tolerance)
	if n == math.MaxInt {
		return 0
	}
	return max(n, ratio.N+1)
}

// RoundsToSee returns the number of rounds with which a difference becomes visible,
// when rounds of them showed those of visible: Comparison.Visible. All are shares of the
// smaller time. Where nothing is known of the noise, visible 0, it is the next number
// of rounds.
func RoundsToSee(difference, visible, tolerance float64, rounds int) int {
	beyond := func(share float64) float64 { return math.Log((1 + share) / (1 + tolerance)) }
	if visible <= difference || beyond(difference) <= 0 {
		return rounds + 1
	}
	n := float64(rounds) * math.Pow(beyond(visible)/beyond(difference), 2)
	return max(int(math.Ceil(min(n, math.MaxInt32))), rounds+1)
}

// unclear says why a comparison shows nothing.
func (c *Comparison) unclear() Unclear {
	u := Unclear{Variant: c.Variant, To: c.Baseline, Why: UnclearUnproven, Ratio: c.Ratio, Visible: c.Visible, RoundsNeeded: c.RoundsNeeded}
	switch {
	case math.IsNaN(c.Ratio.Lo):
		u.Why = UnclearFew
	case within(c.Ratio, c.Tolerance) == CannotTell:
		u.Why = UnclearWide
	}
	return u
}

// sumUnclear sets what could have been seen in every one of Unclear.
func (f *Finding) sumUnclear() {
	for _, u := range f.Unclear {
		f.Visible = max(f.Visible, u.Visible)
		f.RoundsNeeded = max(f.RoundsNeeded, u.RoundsNeeded)
	}
	for _, u := range f.Unclear {
		if u.RoundsNeeded == 0 {
			f.RoundsNeeded = 0
		}
	}
}
