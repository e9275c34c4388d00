package run

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stele-go/stele/lab/internal/buckets"
	"github.com/stele-go/stele/lab/stats"
)

// Sources of the times of system calls.
const (
	SourceBPF         = "bpf"         // in the kernel, about a microsecond a call
	SourceTracepoints = "tracepoints" // every event copied out, several microseconds a call
)

// CallTimes are how long the calls of one name took in one block, from the
// kernel's entry to its exit. Calls that lie across an end of the timed part
// are left out.
type CallTimes struct {
	Total Nanos `json:"total_ns"`
	Max   Nanos `json:"max_ns"`
	// Counts are of consecutive buckets from number First on, four an octave:
	// bucket i is from i to i+1 ns below 4, and from there on it begins at
	// (4 + i mod 4) << (i/4 - 1) ns, up to the next.
	First  int     `json:"first"`
	Counts []int64 `json:"counts"`
}

// A CallLatency is how long the calls of one name took in all blocks of a
// variant.
type CallLatency struct {
	Call string `json:"call"`
	// Runtime is set for calls that the Go runtime makes by itself. A thread parked
	// in one is no wait of the variant's. See RuntimeSyscall.
	Runtime bool    `json:"runtime,omitempty"`
	Count   int64   `json:"count"`
	PerOp   float64 `json:"per_op"`
	Total   Nanos   `json:"total_ns"`
	Max     Nanos   `json:"max_ns"`
	// P50 and P99 are within a fifth of their value, and refused where there are too
	// few calls.
	P50     Percentile   `json:"p50"`
	P99     Percentile   `json:"p99"`
	Buckets []CallBucket `json:"buckets"` // those with calls, and those between
}

// A CallBucket counts the calls that took From or more and less than To.
type CallBucket struct {
	From  Nanos `json:"from_ns"`
	To    Nanos `json:"to_ns"`
	Count int64 `json:"count"`
}

// MissingCalls is the key of Block.Missing and VariantTrace.Missing under which
// the times of system calls are missing.
const MissingCalls = "calls"

// validCalls checks times from outside for the invariants that the rest of the
// package relies on.
func validCalls(m map[string]*CallTimes) bool {
	for _, c := range m {
		if c == nil || c.Total < 0 || c.Max < 0 || c.First < 0 || c.First+len(c.Counts) > buckets.Count {
			return false
		}
		if slices.ContainsFunc(c.Counts, func(n int64) bool { return n < 0 }) {
			return false
		}
	}
	return true
}

// addCalls puts the times of a variant's blocks together.
func (v *VariantTrace) addCalls(traced []*Block) {
	sums := map[string]*CallLatency{}
	counts := map[string]*[buckets.Count]int64{}
	var ops int64
	for _, b := range traced {
		if b.Error != "" || b.Ops <= 0 {
			continue
		}
		if b.Timed == "" {
			v.Missing[MissingCalls] = cmp.Or(b.Missing[MissingCalls], Reason{Code: ReasonNotTimed})
			continue
		}
		v.Blocks, v.Source = v.Blocks+1, b.Timed
		ops += b.Ops
		for name, c := range b.Calls {
			if sums[name] == nil {
				sums[name], counts[name] = &CallLatency{Call: name, Runtime: RuntimeSyscall(name)}, new([buckets.Count]int64)
			}
			s := sums[name]
			s.Total, s.Max = s.Total+c.Total, max(s.Max, c.Max)
			for i, n := range c.Counts {
				s.Count += n
				counts[name][c.First+i] += n
			}
		}
	}
	switch {
	case v.Blocks > 0:
		delete(v.Missing, MissingCalls) // some blocks were timed
	case v.Missing[MissingCalls] == Reason{}:
		v.Missing[MissingCalls] = Reason{Code: ReasonNotTimed}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		s := sums[name]
		if s.Count == 0 {
			continue
		}
		s.PerOp = float64(s.Count) / float64(ops)
		s.Buckets = callBuckets(counts[name])
		s.P50, s.P99 = s.percentile(50), s.percentile(99)
		v.Calls = append(v.Calls, *s)
	}
	slices.SortStableFunc(v.Calls, func(a, b CallLatency) int {
		if a.Runtime != b.Runtime {
			if a.Runtime {
				return 1
			}
			return -1
		}
		return cmp.Compare(b.Total, a.Total)
	})
}

func callBuckets(counts *[buckets.Count]int64) (out []CallBucket) {
	for i, n := range counts {
		if n > 0 || len(out) > 0 {
			from, to := buckets.Bounds(i)
			out = append(out, CallBucket{Nanos(from), Nanos(to), n})
		}
	}
	for len(out) > 0 && out[len(out)-1].Count == 0 {
		out = out[:len(out)-1]
	}
	return out
}

// percentile is where it lies in its bucket, taking the calls of a bucket to
// be spread evenly over it, and never more than the longest.
func (c *CallLatency) percentile(p float64) Percentile {
	if n := c.Count; stats.CheckPercentile(p, n, confidence) != nil {
		return Percentile{P: p, Few: n, None: n == 0}
	}
	rank, seen := p/100*float64(c.Count), 0.0
	for _, b := range c.Buckets {
		if seen+float64(b.Count) >= rank && b.Count > 0 {
			ns := float64(b.From) + float64(b.To-b.From)*(rank-seen)/float64(b.Count)
			return Percentile{P: p, NS: min(ns, float64(c.Max))}
		}
		seen += float64(b.Count)
	}
	panic("unreachable: the counts add up")
}
