package latency

import (
	"math/rand/v2"
	"testing"
)

func TestBucketsAreWithoutGaps(t *testing.T) {
	for i := range buckets {
		low, high := lowOf(i), lowOf(i+1)
		if e, sub := bucketOf(low); e*perBlock+sub != i {
			t.Fatalf("%d ns, where bucket %d begins, is in bucket %d", low, i, e*perBlock+sub)
		}
		if e, sub := bucketOf(high - 1); e*perBlock+sub != i {
			t.Fatalf("%d ns, where bucket %d ends, is in bucket %d", high-1, i, e*perBlock+sub)
		}
		if width := high - low; width > 1 && width*perBlock > low {
			t.Fatalf("bucket %d is %d ns wide at %d ns; want at most a sixteenth", i, width, low)
		}
	}
	if lowOf(buckets) != top {
		t.Fatalf("the last bucket ends at %d; want %d", lowOf(buckets), uint64(top))
	}
}

// durations returns durations distributed like real latencies: mostly alike,
// with a tail.
func durations(r *rand.Rand, n int) []uint64 {
	all := make([]uint64, n)
	scale := uint64(1) << r.IntN(34)
	for i := range all {
		all[i] = r.Uint64N(2*scale) + scale/2
		if r.IntN(20) == 0 {
			all[i] <<= r.IntN(8)
		}
	}
	return all
}
