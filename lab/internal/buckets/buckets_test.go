package buckets

import (
	"math"
	"testing"
)

// Each time lies in its bucket, buckets leave no gap, and none is wider than a
// quarter of what it holds.
func TestBuckets(t *testing.T) {
	last := uint64(0)
	for i := range Count {
		from, to := Bounds(i)
		if from != last || to <= from {
			t.Fatalf("bucket %d is %d to %d, the one before ends at %d", i, from, to, last)
		}
		if from >= PerOctave && (to-from)*PerOctave > from {
			t.Errorf("bucket %d is %d to %d: too wide", i, from, to)
		}
		for _, ns := range []uint64{from, to - 1} {
			if got := Of(ns); got != i {
				t.Errorf("%d ns is in bucket %d, want %d", ns, got, i)
			}
		}
		last = to
	}
	for _, ns := range []uint64{last, last * 3, math.MaxUint64} {
		if got := Of(ns); got != Count-1 {
			t.Errorf("%d ns is in bucket %d, want the last", ns, got)
		}
	}
}
