package stats

import (
	"math"
	"strings"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestMinSamples(t *testing.T) {
	for _, c := range []struct {
		q, confidence float64
		want          int
	}{
		{0.5, 0.95, 6}, // 2/2^6 = 0.031
		{0.5, 0.99, 8}, // 2/2^8 = 0.0078
		{0.9, 0.95, 29},
		{0.99, 0.95, 299}, // Wilks's 299
		{0.999, 0.95, 2995},
		{0.01, 0.95, 299},
		{1, 0.95, math.MaxInt},
	} {
		if got := MinSamples(c.q, c.confidence); got != c.want {
			t.Errorf("MinSamples(%v, %v) = %d, want %d", c.q, c.confidence, got, c.want)
		}
	}
}

func TestCheckPercentile(t *testing.T) {
	if err := CheckPercentile(99.9, 2995, 0.95); err != nil {
		t.Error(err)
	}
	err := CheckPercentile(99.9, 2994, 0.95)
	if err == nil || err.Error() != "p99.9 needs at least 2995 samples for its interval, have 2994" {
		t.Errorf("got %v", err)
	}
}

func TestMedian(t *testing.T) {
	x := []float64{6, 3, 5, -10, 4, 2}
	e := Median(x, 0.95)
	near(t, "median", e.Value, 3.5)
	near(t, "lo", e.Lo, -10)
	near(t, "hi", e.Hi, 6)
	near(t, "confidence", e.Confidence, 1-2.0/64)
	if e.N != 6 || e.Warning != nil {
		t.Errorf("got %+v", e)
	}
	if x[0] != 6 {
		t.Error("Median sorted its argument")
	}
}

func TestMedianTooFew(t *testing.T) {
	e := Median([]float64{1, 2, 3, 4, 5}, 0.95)
	near(t, "median", e.Value, 3)
	if !math.IsNaN(e.Lo) || !math.IsNaN(e.Hi) || e.Confidence != 0 {
		t.Errorf("an interval from 5 samples: %+v", e)
	}
	if e.Warning == nil || !strings.Contains(e.Warning.Error(), "needs at least 6 samples, have 5") {
		t.Errorf("the warning is %v", e.Warning)
	}
	if e := Median(nil, 0.95); !math.IsNaN(e.Value) || e.Warning != ErrNoSamples {
		t.Errorf("of nothing: %+v", e)
	}
}

// The expected values of Welch's and Mann and Whitney's tests are SciPy
// 1.17's ttest_ind(equal_var=False) and mannwhitneyu(method="exact").
func TestUnpairedTests(t *testing.T) {
	a, b := []float64{1.1, 2.2, 3.3, 4.8, 5.1}, []float64{2.5, 3.6, 6.1, 7.7, 8.2, 9.9}
	near(t, "Welch", Welch(a, b), 0.05879894682073859)
	near(t, "Mann-Whitney", MannWhitney(a, b), 0.08225108225108226)
	for _, none := range [][2][]float64{{nil, b}, {a, nil}, {{2, 2, 2}, {2, 2, 2}}} {
		if p := Welch(none[0], none[1]); p != 1 {
			t.Errorf("Welch(%v) = %v, want 1", none, p)
		}
		if p := MannWhitney(none[0], none[1]); p != 1 {
			t.Errorf("MannWhitney(%v) = %v, want 1", none, p)
		}
	}
}

// Worked by hand from the definition in the paper.
func TestHolm(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{nil, nil},
		{[]float64{0.2}, []float64{0.2}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.5, 0.6, 1}, []float64{1, 1, 1}},
		// 0.02*2 = 0.04 must not fall below the 0.045 before it.
		{[]float64{0.015, 0.02, 0.021}, []float64{0.045, 0.045, 0.045}},
	} {
		got := Holm(c.p)
		for i := range c.want {
			near(t, "Holm", got[i], c.want[i])
		}
	}
}

func TestOutliers(t *testing.T) {
	// Quartiles 3.25 and 7.75: fences at -3.5 and 14.5.
	x := []float64{4, 1, 15, 3, 6, 5, 8, 7, 2, 9}
	if got := Outliers(x); len(got) != 1 || got[0] != 2 {
		t.Errorf("Outliers = %v, want [2]", got)
	}
	x[2] = 14.5
	if got := Outliers(x); got != nil {
		t.Errorf("a sample on the fence is an outlier: %v", got)
	}
	if got := Outliers([]float64{1, 1, 100}); got != nil {
		t.Errorf("outliers of three samples: %v", got)
	}
}

func TestSteady(t *testing.T) {
	for _, c := range []struct {
		name             string
		x                []float64
		reached          bool
		first            int
		excursion, slope float64
	}{
		{"flat", []float64{10, 10, 10, 10, 10}, true, 0, 0, 0},
		// Excursion is 2/10, on the limit.
		{"wide", []float64{10, 11, 9, 10, 10}, true, 0, 0.2, -0.04},
		{"too wide", []float64{10, 11.1, 8.9, 10, 10}, false, 0, 0.22, -0.044},
		// Rises by 4*0.3 = 1.2 on a mean of 10: the line leaves its bounds first.
		{"rising", []float64{9.4, 9.7, 10, 10.3, 10.6}, false, 0, 0.12, 0.12},
		{"settles", []float64{20, 15, 10, 10, 10, 10, 10}, true, 2, 0, 0},
		{"too few", []float64{10, 10, 10, 10}, false, 0, 0, 0},
	} {
		s := Steady(c.x)
		if s.Reached != c.reached || s.First != c.first {
			t.Errorf("%s: %+v", c.name, s)
		}
		near(t, c.name+": excursion", s.Excursion, c.excursion)
		near(t, c.name+": slope", s.Slope, c.slope)
	}
}

// The expected p-values are SciPy 1.17's kendalltau(method="exact"), and for
// the tied series the formula of Kendall with SciPy's normal distribution;
// the rise is the exponential of theilslopes of the logarithms, less 1.
func TestMannKendall(t *testing.T) {
	near(t, "exact, n=10", MannKendall([]float64{5, 7, 6, 9, 8, 11, 10, 13, 12, 15}).P, 0.0003576940035273369)
	near(t, "exact, n=8", MannKendall([]float64{2, 1, 4, 3, 6, 8, 5, 7}).P, 0.03115079365079365)
	tied := MannKendall([]float64{3, 1, 2, 2, 5, 4, 1, 6, 3, 5, 2, 4})
	near(t, "tied", tied.P, 0.3281720568429347)
	near(t, "tied: rise", tied.Rise, 0.9168945738207638)
	down := MannKendall([]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1})
	near(t, "down", down.P, 2/3628800.0)
	near(t, "down: rise", down.Rise, -0.8364469132084115)
	for _, x := range [][]float64{nil, {1, 2}, {4, 4, 4, 4}} {
		if got := MannKendall(x); got.P != 1 || got.Rise != 0 {
			t.Errorf("MannKendall(%v) = %+v", x, got)
		}
	}
}
