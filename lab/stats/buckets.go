package stats

import (
	"math"
	"runtime/metrics"
)

// BucketPercentile returns the percentile p (0 to 100) of the values that the
// histogram after has more than before: the upper edge of the bucket that holds it,
// or the lower one where the upper is infinite. before and after have the same
// buckets. Too few values for the percentile are an error; see CheckPercentile.
func BucketPercentile(before, after *metrics.Float64Histogram, p, confidence float64) (float64, error) {
	var total uint64
	for i, n := range after.Counts {
		total += n - before.Counts[i]
	}
	if err := CheckPercentile(p, int64(total), confidence); err != nil {
		return 0, err
	}
	rank, seen := uint64(math.Ceil(p/100*float64(total))), uint64(0)
	for i, n := range after.Counts {
		if seen += n - before.Counts[i]; seen >= rank {
			edge := after.Buckets[i+1]
			if math.IsInf(edge, 1) {
				edge = after.Buckets[i]
			}
			return edge, nil
		}
	}
	panic("unreachable: the counts add up to total")
}
