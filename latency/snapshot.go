package latency

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"time"
)

// A Snapshot is the content of a Histogram or a Sampler at one moment, or a result
// of Merge and Sub. It does not change and may be copied. The zero value is empty.
type Snapshot struct {
	cells    []cell // ascending, none empty; never written again
	count    uint64
	sum      uint64 // nanoseconds, modulo 1<<63
	min, max uint64
	clamped  uint64
	oneOf    uint32 // never 1, which is 0
}

type cell struct {
	bucket uint16
	count  uint64
}

// fill sets cells and count.
func (s *Snapshot) fill(counts *[buckets]uint64) {
	used := 0
	for _, n := range counts {
		if n > 0 {
			used++
		}
	}
	if used == 0 {
		return
	}
	s.cells = make([]cell, 0, used)
	for i, n := range counts {
		if n > 0 {
			s.cells = append(s.cells, cell{uint16(i), n})
			s.count = add(s.count, n)
		}
	}
}

// tidy limits min and max to the first and the last bucket: they are read after
// the counts, and after Sub are known only up to the bucket.
func (s *Snapshot) tidy() {
	first, last := s.cells[0].bucket, s.cells[len(s.cells)-1].bucket
	s.min = min(max(s.min, lowOf(int(first))), lowOf(int(first)+1)-1)
	s.max = max(s.max, lowOf(int(last)))
	if last < buckets-1 { // the last bucket also counts longer durations
		s.max = min(s.max, lowOf(int(last)+1)-1)
	}
}

// Count returns the number of durations recorded. For a Sampler that is the
// number of samples; see Estimate.
func (s Snapshot) Count() uint64 { return s.count }

// OneOf returns n if a Sampler recorded one of n operations, and 1 if each was
// recorded.
func (s Snapshot) OneOf() uint32 { return max(s.oneOf, 1) }

// Estimate returns the estimated number of operations: Count times OneOf.
func (s Snapshot) Estimate() uint64 { return times(s.count, uint64(s.OneOf())) }

// Clamped returns the number of durations that were negative, or 1<<43 ns (2.4
// hours) or longer.
func (s Snapshot) Clamped() uint64 { return s.clamped }

// Sum returns the exact sum of all durations. It wraps to 0 after 292 years, which
// a thousand goroutines that always wait reach in 15 weeks. Monitoring systems
// take that for a restart.
func (s Snapshot) Sum() time.Duration { return time.Duration(s.sum) }

// Mean returns Sum divided by Count, 0 for an empty Snapshot.
func (s Snapshot) Mean() time.Duration {
	if s.count == 0 {
		return 0
	}
	return time.Duration(s.sum / s.count)
}

// Min returns the least duration, 0 for an empty Snapshot. It is exact, but after
// Sub it may be the lower bound of its bucket.
func (s Snapshot) Min() time.Duration { return time.Duration(s.min) }

// Max returns the greatest duration, 0 for an empty Snapshot. It is exact even if
// clamped, but after Sub it may be the upper bound of its bucket.
func (s Snapshot) Max() time.Duration { return time.Duration(s.max) }

// Quantile returns the duration that a fraction q of all durations does not
// exceed: 0.99 is p99. It is within 1/32 of element q*Count, rounded up, of the
// sorted durations, unless that was clamped. For q <= 0 or NaN it returns Min, for
// q >= 1 Max, for an empty Snapshot 0.
func (s Snapshot) Quantile(q float64) time.Duration {
	switch {
	case !(q > 0):
		return s.Min()
	case q >= 1:
		return s.Max()
	}
	r := math.Ceil(q * float64(s.count))
	if r >= float64(s.count) {
		return s.Max()
	}
	left := max(uint64(r), 1)
	for _, c := range s.cells {
		if left <= c.count {
			low, high := lowOf(int(c.bucket)), lowOf(int(c.bucket)+1)
			return time.Duration(min(max(low+(high-low)/2, s.min), s.max))
		}
		left -= c.count
	}
	return s.Max() // the counts have overflowed
}

// Buckets returns an iterator over the buckets that are not empty, in ascending
// order, with the number of durations in each. The last bucket, which ends at
// 1<<43 ns, also counts longer durations. Every power of two, in nanoseconds, is
// the bound of a bucket, so that a classic Prometheus histogram with such bounds
// is exact; see the example.
func (s Snapshot) Buckets() iter.Seq2[Bounds, uint64] {
	return func(yield func(Bounds, uint64) bool) {
		for _, c := range s.cells {
			if !yield(boundsOf(int(c.bucket)), c.count) {
				return
			}
		}
	}
}

// Scaled returns s with all counts and the sum multiplied by OneOf, as if every
// operation had been recorded. OneOf of the result is 1.
func (s Snapshot) Scaled() Snapshot {
	n := uint64(s.OneOf())
	if n == 1 {
		return s
	}
	cells := make([]cell, len(s.cells))
	for i, c := range s.cells {
		cells[i] = cell{c.bucket, times(c.count, n)}
	}
	s.cells, s.oneOf = cells, 0
	s.count, s.clamped = times(s.count, n), times(s.clamped, n)
	s.sum = s.sum * n & math.MaxInt64
	return s
}

// Merge returns a Snapshot of the durations of both s and t. If their OneOf differ,
// both are scaled first.
func (s Snapshot) Merge(t Snapshot) Snapshot {
	switch {
	case t.count == 0:
		return s
	case s.count == 0:
		return t
	case s.OneOf() != t.OneOf():
		s, t = s.Scaled(), t.Scaled()
	}
	counts := s.dense()
	for _, c := range t.cells {
		counts[c.bucket] = add(counts[c.bucket], c.count)
	}
	m := Snapshot{
		sum:     (s.sum + t.sum) & math.MaxInt64,
		min:     min(s.min, t.min),
		max:     max(s.max, t.max),
		clamped: add(s.clamped, t.clamped),
		oneOf:   s.oneOf,
	}
	m.fill(&counts)
	return m
}

// Sub returns the durations recorded between earlier and s, two snapshots of the
// same histogram. If earlier has counts that s lacks, as after a restart of the
// process, Sub returns s.
func (s Snapshot) Sub(earlier Snapshot) Snapshot {
	if earlier.count == 0 {
		return s
	}
	if s.OneOf() != earlier.OneOf() || s.clamped < earlier.clamped {
		return s
	}
	counts := s.dense()
	for _, c := range earlier.cells {
		if c.count > counts[c.bucket] {
			return s
		}
		counts[c.bucket] -= c.count
	}
	d := Snapshot{sum: (s.sum - earlier.sum) & math.MaxInt64, clamped: s.clamped - earlier.clamped, oneOf: s.oneOf}
	d.fill(&counts)
	if d.count == 0 {
		return Snapshot{}
	}
	d.clamped = min(d.clamped, d.count)
	// A new extreme belongs to this interval. Else the bucket bounds it.
	if s.min < earlier.min {
		d.min = s.min
	}
	d.max = s.max
	d.tidy()
	return d
}

func (s Snapshot) dense() (counts [buckets]uint64) {
	for _, c := range s.cells {
		counts[c.bucket] = c.count
	}
	return counts
}

// String returns count, mean, p50, p99, p99.9 and max in one line.
func (s Snapshot) String() string {
	return fmt.Sprintf("count=%d mean=%v p50=%v p99=%v p99.9=%v max=%v",
		s.Estimate(), s.Mean(), s.Quantile(0.5), s.Quantile(0.99), s.Quantile(0.999), s.Max())
}

// add and times return math.MaxUint64 on overflow.
func add(a, b uint64) uint64 {
	if c := a + b; c >= a {
		return c
	}
	return math.MaxUint64
}

func times(a, b uint64) uint64 {
	if hi, lo := bits.Mul64(a, b); hi == 0 {
		return lo
	}
	return math.MaxUint64
}
