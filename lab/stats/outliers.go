package stats

import "slices"

// Outliers returns the indexes of the samples outside Tukey's fences, more
// than 1.5 interquartile ranges below the first quartile or above the third
// (Tukey, Exploratory Data Analysis, 1977). Quartiles are those of
// Quantile. Fewer than 4 samples have no outliers.
func Outliers(x []float64) []int {
	if len(x) < 4 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(x))
	q1, q3 := Quantile(sorted, 0.25), Quantile(sorted, 0.75)
	reach := 1.5 * (q3 - q1)
	var out []int
	for i, v := range x {
		if v < q1-reach || v > q3+reach {
			out = append(out, i)
		}
	}
	return out
}

// Quantile returns the quantile q (0 to 1) of sorted, which has one element or more,
// interpolated linearly between order statistics (R's type 7).
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
