package stats

import (
	"math"
	"slices"
)

// A Trend is what samples do over time.
type Trend struct {
	// P is the two-sided p-value of the Mann-Kendall test that the samples
	// have no order in time; 1 for fewer than 3.
	P float64
	// Rise is the change from the first sample to the last as a share of the
	// first: 0.1 is up by 10 %, -0.5 down by half. It is never below -1. It comes
	// from the Theil-Sen line through the logarithms of the samples, and is 0 where
	// a sample is not positive.
	Rise float64
}

// exactKendall is the largest number of samples for which the distribution
// of Kendall's S is counted out. Kendall takes the normal approximation to be
// good from 10 on.
const exactKendall = 20

// MannKendall tests for a monotonic trend in samples in the order in which
// they were taken (Mann, "Nonparametric Tests Against Trend", 1945; Kendall,
// Rank Correlation Methods, 1975), and tells its size by the median of all
// pairwise slopes (Sen, "Estimates of the Regression Coefficient Based on
// Kendall's Tau", 1968), which outliers do not carry away.
//
// The p-value is exact for up to 20 samples without ties; otherwise it is the
// normal approximation with correction for ties and continuity.
func MannKendall(x []float64) Trend {
	n := len(x)
	if n < 3 {
		return Trend{P: 1}
	}
	var s int
	slopes := make([]float64, 0, n*(n-1)/2)
	for i, a := range x {
		for j := i + 1; j < n; j++ {
			switch b := x[j]; {
			case b > a:
				s++
			case b < a:
				s--
			}
			slopes = append(slopes, math.Log(x[j]/a)/float64(j-i))
		}
	}
	sorted := slices.Sorted(slices.Values(x))
	slices.Sort(slopes)
	t := Trend{P: kendallP(s, sorted)}
	if sorted[0] > 0 {
		t.Rise = math.Expm1(Quantile(slopes, 0.5) * float64(n-1))
	}
	return t
}

func kendallP(s int, sorted []float64) float64 {
	n := float64(len(sorted))
	variance := n * (n - 1) * (2*n + 5)
	ties := false
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		t := float64(j - i)
		variance -= t * (t - 1) * (2*t + 5)
		ties = ties || j-i > 1
		i = j
	}
	variance /= 18
	if s < 0 {
		s = -s // the distribution is symmetric
	}
	switch {
	case s == 0 || variance == 0:
		return 1
	case !ties && len(sorted) <= exactKendall:
		return exactKendallP(s, len(sorted))
	}
	return 2 * normalCDF(-float64(s-1)/math.Sqrt(variance))
}

// exactKendallP is the probability that |S| of n samples in random order is
// at least s > 0. S is n(n-1)/2 less twice the inversions, and a sample that
// is put in at the k-th place makes 0 to k-1 of them, equally often.
func exactKendallP(s, n int) float64 {
	p := []float64{1} // of each number of inversions
	for k := 2; k <= n; k++ {
		next := make([]float64, len(p)+k-1)
		for inv, q := range p {
			for add := range k {
				next[inv+add] += q / float64(k)
			}
		}
		p = next
	}
	var tail float64
	for inv := 0; n*(n-1)/2-2*inv >= s; inv++ {
		tail += p[inv]
	}
	return min(2*tail, 1)
}
