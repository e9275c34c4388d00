package calls

import (
	"math"
	"testing"
)

// Each time lies in its bucket, buckets leave no gap, and none is wider than a
// quarter of what it holds.
func TestBuckets(t *testing.T) {
	last := uint64(0)
	for i := range Buckets {
		from, to := Bucket(i)
		if from != last || to <= from {
			t.Fatalf("bucket %d is %d to %d, the one before ends at %d", i, from, to, last)
		}
		if from >= perOctave && (to-from)*perOctave > from {
			t.Errorf("bucket %d is %d to %d: too wide", i, from, to)
		}
		for _, ns := range []uint64{from, to - 1} {
			if got := bucketOf(ns); got != i {
				t.Errorf("%d ns is in bucket %d, want %d", ns, got, i)
			}
		}
		last = to
	}
	for _, ns := range []uint64{last, last * 3, math.MaxUint64} {
		if got := bucketOf(ns); got != Buckets-1 {
			t.Errorf("%d ns is in bucket %d, want the last", ns, got)
		}
	}
}

func TestLatencyAdds(t *testing.T) {
	var l Latency
	for _, ns := range []uint64{5, 100, 7} {
		l.Add(ns)
	}
	if l.Count() != 3 || l.Total != 112 || l.Max != 100 {
		t.Errorf("%d calls, %d ns, longest %d", l.Count(), l.Total, l.Max)
	}
}
