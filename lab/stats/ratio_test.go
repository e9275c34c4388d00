package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// unpaired is the ratio of the medians of two runs.
func unpaired(test, base []float64, confidence float64, rng *rand.Rand, resamples int) Estimate {
	return RatioOfRuns([]Statistic{MedianOf(test)}, []Statistic{MedianOf(base)}, confidence, rng, resamples)
}

func TestStudentQuantile(t *testing.T) {
	for _, c := range []struct {
		nu   int
		p, q float64
	}{
		{1, 0.975, 12.706204736174694},
		{2, 0.975, 4.302652729749462},
		{5, 0.975, 2.5705818356363146},
		{7, 0.975, 2.364624251592784},
		{19, 0.975, 2.0930240544083087},
		{28, 0.995, 2.763262455461444},
	} {
		near(t, "t", StudentQuantile(c.p, c.nu), c.q)
	}
}

// One slow block in each sample and a drift that both share: neither may
// move the ratio.
func TestRatioPairedCancelsAndResists(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var test, base []float64
	for i := range 20 {
		drift := 100 * math.Exp(float64(i)/5) // 50-fold over the run
		base = append(base, drift)
		test = append(test, drift*0.8)
	}
	e := RatioPaired(test, base, 0.95, rng, 1000)
	near(t, "ratio", e.Value, 0.8)
	near(t, "lo", e.Lo, 0.8)
	near(t, "hi", e.Hi, 0.8)
	test[3] *= 3
	base[11] *= 2.5
	e = RatioPaired(test, base, 0.95, rng, 1000)
	if math.Abs(e.Value-0.8) > 1e-9 || e.Hi > 0.81 {
		t.Errorf("two outliers moved the ratio: %+v", e)
	}
	if e.N != 20 || e.Confidence != 0.95 || e.Warning != nil {
		t.Errorf("got %+v", e)
	}
}

func TestWeightedMedian(t *testing.T) {
	x := []float64{1, 4, 10, 20}
	near(t, "each once", weightedMedian(x, []int{1, 1, 1, 1}), 7)
	near(t, "1 4 4 20", weightedMedian(x, []int{1, 2, 0, 1}), 4)
	near(t, "1 1 20 20", weightedMedian(x, []int{2, 0, 0, 2}), 10.5)
	near(t, "10 10 10 10", weightedMedian(x, []int{0, 0, 4, 0}), 10)
	near(t, "of three", weightedMedian([]float64{1, 4, 10}, []int{1, 0, 2}), 10)
}

// Exchanging the two must give the reciprocal, or verdicts would depend on
// which one is called the baseline.
func TestRatioPairedIsSymmetric(t *testing.T) {
	data := rand.New(rand.NewPCG(2, 2))
	var x, y []float64
	for range 15 {
		x, y = append(x, disk(data, 0.1)), append(y, disk(data, 0.1))
	}
	a := RatioPaired(x, y, 0.95, rand.New(rand.NewPCG(1, 1)), 20000)
	b := RatioPaired(y, x, 0.95, rand.New(rand.NewPCG(1, 1)), 20000)
	near(t, "value", a.Value, 1/b.Value)
	near(t, "lo", a.Lo, 1/b.Hi)
	near(t, "hi", a.Hi, 1/b.Lo)
}

func TestRatioFewSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := []float64{2, 4, 6, 8, 10}, []float64{1, 2, 3, 4, 5}
	for name, e := range map[string]Estimate{
		"paired":   RatioPaired(x, y, 0.95, rng, 100),
		"unpaired": unpaired(x, y, 0.95, rng, 100),
	} {
		near(t, name, e.Value, 2)
		if !math.IsNaN(e.Lo) || !math.IsNaN(e.Hi) || e.Warning == nil {
			t.Errorf("%s: an interval from 5: %+v", name, e)
		}
	}
	if e := RatioPaired(nil, nil, 0.95, rng, 100); !math.IsNaN(e.Value) || e.Warning == nil {
		t.Errorf("of nothing: %+v", e)
	}
	if e := unpaired(x, nil, 0.95, rng, 100); !math.IsNaN(e.Value) || e.Warning == nil {
		t.Errorf("to nothing: %+v", e)
	}
}

func TestRatioUnpairedZeros(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	zero, two := make([]float64, 8), []float64{2, 2, 2, 2, 2, 2, 2, 2}
	if e := unpaired(zero, zero, 0.95, rng, 100); e.Value != 1 || e.Lo != 1 || e.Hi != 1 {
		t.Errorf("0 to 0: %+v", e)
	}
	if e := unpaired(two, zero, 0.95, rng, 100); !math.IsInf(e.Value, 1) || !math.IsInf(e.Lo, 1) {
		t.Errorf("2 to 0: %+v", e)
	}
	if e := unpaired(zero, two, 0.95, rng, 100); e.Value != 0 || e.Hi != 0 {
		t.Errorf("0 to 2: %+v", e)
	}
}

func TestRatioIsDeterministic(t *testing.T) {
	draw := func(seed uint64) (Estimate, Estimate) {
		data := rand.New(rand.NewPCG(9, 9))
		var x, y []float64
		for range 12 {
			x, y = append(x, disk(data, 0.1)), append(y, disk(data, 0.1))
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		return RatioPaired(x, y, 0.95, rng, 500), unpaired(x, y, 0.95, rng, 500)
	}
	p1, u1 := draw(1)
	p2, u2 := draw(1)
	p3, _ := draw(2)
	if p1 != p2 || u1 != u2 {
		t.Error("one seed gave two intervals")
	}
	if p1 == p3 {
		t.Error("the seed does not reach the resampling")
	}
}

// disk is what blocks on a disk look like: lognormal, and one in ten slowed
// 1.5 to 3 times by something else.
func disk(rng *rand.Rand, cv float64) float64 {
	x := math.Exp(cv * rng.NormFloat64())
	if rng.IntN(10) == 0 {
		x *= 1.5 + 1.5*rng.Float64()
	}
	return x
}

// The intervals must hold the true ratio about as often as they say, from
// few samples and with outliers. 400 trials have a standard error of 1.1 %.
func TestCoverage(t *testing.T) {
	const trials, truth = 400, 1.3
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{6, 7, 8, 13, 20} {
		var paired, apart int
		for range trials {
			var x, y, alone []float64
			for range n {
				drift := math.Exp(0.2 * rng.NormFloat64())
				x = append(x, truth*drift*disk(rng, 0.08))
				y = append(y, drift*disk(rng, 0.08))
				alone = append(alone, drift*disk(rng, 0.08)/truth)
			}
			holds := func(e Estimate, v float64) int {
				if e.Lo <= v && v <= e.Hi {
					return 1
				}
				return 0
			}
			paired += holds(RatioPaired(x, y, 0.95, rng, 300), truth)
			other := make([]float64, n) // of another run: nothing in common
			for i := range other {
				other[i] = math.Exp(0.2*rng.NormFloat64()) * disk(rng, 0.08)
			}
			apart += holds(unpaired(alone, other, 0.95, rng, 300), 1/truth)
		}
		t.Logf("n=%d: paired %.3f, unpaired %.3f", n, float64(paired)/trials, float64(apart)/trials)
		for name, hits := range map[string]int{"paired": paired, "unpaired": apart} {
			if share := float64(hits) / trials; share < 0.925 || share > 0.995 {
				t.Errorf("%s intervals from %d samples cover %.1f %%, want about 95 %%", name, n, 100*share)
			}
		}
	}
}
