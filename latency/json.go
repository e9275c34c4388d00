package latency

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// wire is the JSON of a snapshot. All times are in nanoseconds. Buckets are
// pairs: the lower bound, then the count.
type wire struct {
	Count   uint64   `json:"count"`
	Sum     uint64   `json:"sum_ns"`
	Min     uint64   `json:"min_ns"`
	Max     uint64   `json:"max_ns"`
	Clamped uint64   `json:"clamped,omitempty"`
	OneOf   uint32   `json:"one_of,omitempty"` // 0 is 1
	Buckets []uint64 `json:"buckets"`
}

// maxJSON is the longest input of UnmarshalJSON, in bytes. MarshalJSON writes at
// most 23 KiB; indentation adds to that.
const maxJSON = 128 << 10

// MarshalJSON returns an object with count, sum_ns, min_ns, max_ns, clamped, one_of
// and buckets: an array with, alternately, the lower bound in nanoseconds and the
// count of each bucket that is not empty. Equal snapshots have equal JSON.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	w := wire{Count: s.count, Sum: s.sum, Min: s.min, Max: s.max, Clamped: s.clamped, OneOf: s.oneOf, Buckets: make([]uint64, 0, 2*len(s.cells))}
	for _, c := range s.cells {
		w.Buckets = append(w.Buckets, lowOf(int(c.bucket)), c.count)
	}
	return json.Marshal(w)
}

// UnmarshalJSON decodes the JSON of MarshalJSON. It fails for a snapshot that no
// histogram can have recorded, and for input longer than 128 KiB.
func (s *Snapshot) UnmarshalJSON(b []byte) error {
	if len(b) > maxJSON {
		return fmt.Errorf("latency: a snapshot of %d bytes; want at most %d", len(b), maxJSON)
	}
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("latency: %w", err)
	}
	t, err := w.snapshot()
	if err != nil {
		return fmt.Errorf("latency: not a snapshot: %w", err)
	}
	*s = t
	return nil
}

func (w wire) snapshot() (Snapshot, error) {
	n := len(w.Buckets)
	if w.OneOf == 1 {
		w.OneOf = 0
	}
	s := Snapshot{count: w.Count, sum: w.Sum, min: w.Min, max: w.Max, clamped: w.Clamped, oneOf: w.OneOf}
	if n == 0 {
		if w.Count != 0 || w.Sum != 0 || w.Min != 0 || w.Max != 0 || w.Clamped != 0 {
			return s, errors.New("figures without buckets")
		}
		return s, nil
	}
	if n%2 != 0 || n > 2*buckets {
		return s, fmt.Errorf("%d numbers in buckets; want pairs, at most %d", n, buckets)
	}
	total := uint64(0)
	s.cells = make([]cell, 0, n/2)
	for p := w.Buckets; len(p) > 0; p = p[2:] {
		c, err := cellOf(p[0], p[1])
		if err != nil {
			return s, err
		}
		if k := len(s.cells); k > 0 && s.cells[k-1].bucket >= c.bucket {
			return s, fmt.Errorf("the bucket of %d ns is not in ascending order", p[0])
		}
		s.cells = append(s.cells, c)
		total = add(total, c.count)
	}
	t := s
	t.tidy()
	switch {
	case total != s.count:
		return s, fmt.Errorf("count %d; want %d, the sum of the buckets", s.count, total)
	case s.clamped > s.count:
		return s, fmt.Errorf("clamped %d; want at most count, %d", s.clamped, s.count)
	case s.min > s.max || t.min != s.min || t.max != s.max || s.max > math.MaxInt64:
		return s, fmt.Errorf("min_ns %d, max_ns %d; want them in the first and the last bucket", s.min, s.max)
	case s.sum > math.MaxInt64:
		return s, fmt.Errorf("sum_ns %d; want at most %d", s.sum, int64(math.MaxInt64))
	}
	return s, nil
}

func cellOf(low, count uint64) (cell, error) {
	if low < top {
		e, i := bucketOf(low)
		if k := e*perBlock + i; lowOf(k) == low && count > 0 {
			return cell{uint16(k), count}, nil
		}
	}
	return cell{}, fmt.Errorf("no bucket begins at %d ns, or it counts nothing", low)
}
