package latency

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"time"
)

// A Snapshot is what a Histogram or a Sampler had recorded at one moment, or
// what was made of such by Merge and Sub. It does not change and may be copied.
// The zero value is empty.
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

// tidy brings min and max into the first and the last bucket: they are read
// apart from the counts, and only known to the bucket after Sub.
func (s *Snapshot) tidy() {
	first, last := s.cells[0].bucket, s.cells[len(s.cells)-1].bucket
	s.min = min(max(s.min, lowOf(int(first))), lowOf(int(first)+1)-1)
	s.max = max(s.max, lowOf(int(last)))
	if last < buckets-1 { // the last of all also holds what is longer
		s.max = min(s.max, lowOf(int(last)+1)-1)
	}
}

// Count returns how many durations were recorded. Of a Sampler these are the
// samples; see Estimate.
func (s Snapshot) Count() uint64 { return s.count }

// OneOf returns n if one of n operations was recorded, by a Sampler, and 1 if
// each was.
func (s Snapshot) OneOf() uint32 { return max(s.oneOf, 1) }

// Estimate returns how many operations there were: Count times OneOf.
func (s Snapshot) Estimate() uint64 { return times(s.count, uint64(s.OneOf())) }

// Clamped returns how many of the durations were negative, or 1<<43 ns (2.4
// hours) or longer.
func (s Snapshot) Clamped() uint64 { return s.clamped }

// Sum returns the sum of all durations, without the error of buckets. It
// begins again at 0 after 292 years: a thousand goroutines that always wait
// get there in 15 weeks. Monitoring systems take that for a restart.
func (s Snapshot) Sum() time.Duration { return time.Duration(s.sum) }

// Mean returns Sum divided by Count, 0 if there is none.
func (s Snapshot) Mean() time.Duration {
	if s.count == 0 {
		return 0
	}
	return time.Duration(s.sum / s.count)
}

// Min returns the least duration, 0 if there is none. It is exact, but after
// Sub it may be the lower bound of its bucket.
func (s Snapshot) Min() time.Duration { return time.Duration(s.min) }

// Max returns the greatest duration, 0 if there is none. It is exact, also
// where it was clamped, but after Sub it may be the upper bound of its bucket.
func (s Snapshot) Max() time.Duration { return time.Duration(s.max) }

// Quantile returns the duration that the share q of all durations does not
// exceed: 0.99 is p99. It is within 1/32 of the one that a sorted list of all
// durations has in place q*Count, rounded up, unless that was clamped. q of 0
// or less (or NaN) is Min, q of 1 or more is Max; of an empty snapshot all are
// 0.
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
	return s.Max() // counts that do not fit into 64 bits
}

// Buckets walks the buckets that are not empty, in ascending order, with the
// number of durations in each. The last possible bucket, which ends at 1<<43
// ns, also counts the longer ones. Every power of two, in nanoseconds, is the
// bound of a bucket, so that a classic histogram of Prometheus with such
// bounds is exact; see the example.
func (s Snapshot) Buckets() iter.Seq2[Bounds, uint64] {
	return func(yield func(Bounds, uint64) bool) {
		for _, c := range s.cells {
			if !yield(boundsOf(int(c.bucket)), c.count) {
				return
			}
		}
	}
}

// Scaled returns s with all counts and the sum multiplied by OneOf, and with
// OneOf 1: as if every operation had been recorded.
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

// Merge returns a snapshot of all durations of s and t. If one of n was
// recorded in one of them, and one of another n in the other, both are scaled.
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

// Sub returns what was recorded after earlier, a snapshot of the same
// histogram, had been taken, and until s was. If earlier cannot be one, as it
// has counts that s lacks (the process has been restarted in between), Sub
// returns s.
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
	// A new extreme is of this interval. Else the bucket bounds it.
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

// String returns the usual figures in one line.
func (s Snapshot) String() string {
	return fmt.Sprintf("count=%d mean=%v p50=%v p99=%v p99.9=%v max=%v",
		s.Estimate(), s.Mean(), s.Quantile(0.5), s.Quantile(0.99), s.Quantile(0.999), s.Max())
}

// add and times stay at the largest number rather than overflow.
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
