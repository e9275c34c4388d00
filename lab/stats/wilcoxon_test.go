package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Darwin's maize (Fisher, The Design of Experiments, 1935), and otherwise
// SciPy 1.17's wilcoxon: method="exact", and for 60 differences with ties and
// a zero method="approx", correction=True, zero_method="pratt".
func TestSignedRank(t *testing.T) {
	near(t, "maize", SignedRank([]float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}), 0.041259765625)
	near(t, "n=10", SignedRank([]float64{6.1, -1.2, 3.3, 4.4, -0.5, 7.7, 2.2, 5.5, -3.1, 8.8}), 0.037109375)
	d := make([]float64, 60)
	for i := range d {
		d[i] = float64(i*37%61-25) / 4
	}
	near(t, "n=60", SignedRank(d), 0.040686971249022326)
	// All of one sign: 2 of 2^6 patterns. Five pairs cannot reach 0.05.
	near(t, "n=6", SignedRank([]float64{1, 2, 3, 4, 5, 6}), 2.0/64)
	near(t, "n=5", SignedRank([]float64{1, 2, 3, 4, 5}), 2.0/32)
	for _, none := range [][]float64{nil, {0, 0, 0}, {1, -1}} {
		near(t, "nothing shown", SignedRank(none), 1)
	}
}

// Ties and zeros against a count of every sign pattern.
func TestSignedRankExhaustive(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		d := make([]float64, 1+rng.IntN(11))
		for i := range d {
			d[i] = float64(rng.IntN(9) - 3)
		}
		near(t, "p", SignedRank(d), exhaustive(d))
	}
	near(t, "by SciPy's rankdata", SignedRank([]float64{1, 1, 2, -2, 3, 3, 3, -1, 4, 5, 0, 0}), 0.03515625)
}

func exhaustive(d []float64) float64 {
	var ranks []float64
	var total, plus float64
	for _, x := range d {
		if x == 0 {
			continue
		}
		var below, equal float64
		for _, y := range d {
			switch {
			case math.Abs(y) < math.Abs(x):
				below++
			case math.Abs(y) == math.Abs(x):
				equal++
			}
		}
		r := below + (equal+1)/2
		ranks = append(ranks, r)
		total += r
		if x > 0 {
			plus += r
		}
	}
	far := math.Abs(plus - total/2)
	hits := 0
	for pattern := range 1 << len(ranks) {
		var sum float64
		for i, r := range ranks {
			if pattern>>i&1 == 1 {
				sum += r
			}
		}
		if math.Abs(sum-total/2) >= far {
			hits++
		}
	}
	return float64(hits) / math.Exp2(float64(len(ranks)))
}

// Where the one takes over from the other there must be no step.
func TestNormalTailAgreesWithExact(t *testing.T) {
	var ranks []int
	total := 0
	for i := range exactSignedRank {
		ranks = append(ranks, 2*(i+1))
		total += 2 * (i + 1)
	}
	for _, low := range []int{600, 800, 1000, 1200} {
		exact, approx := exactTail(ranks, total, low), normalTail(ranks, total, low)
		if math.Abs(exact-approx) > 0.003 {
			t.Errorf("sum %d of %d: exact %v, approximate %v", low, total, exact, approx)
		}
	}
}
