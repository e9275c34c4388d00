package stats

import (
	"math"
	"runtime/metrics"
	"testing"
)

func TestBucketPercentile(t *testing.T) {
	edges := []float64{0, 1, 2, math.Inf(1)}
	before := &metrics.Float64Histogram{Counts: []uint64{5, 5, 5}, Buckets: edges}
	after := &metrics.Float64Histogram{Counts: []uint64{5 + 500, 5 + 480, 5 + 20}, Buckets: edges}
	for p, want := range map[float64]float64{50: 1, 97: 2, 99: 2} {
		if got, err := BucketPercentile(before, after, p, 0.95); got != want || err != nil {
			t.Errorf("p%v is %v, %v; want %v", p, got, err, want)
		}
	}
	for p, after := range map[float64]*metrics.Float64Histogram{50: before, 99.9: after} {
		if got, err := BucketPercentile(before, after, p, 0.95); err == nil {
			t.Errorf("p%v of too few values is %v; want an error", p, got)
		}
	}
}
