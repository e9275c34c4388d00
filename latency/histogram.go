package latency

import (
	"math"
	"sync/atomic"
	"time"
	"unsafe"
)

// A Histogram counts durations. The zero value is empty and ready to use. Any
// number of goroutines may use it at once; it must not be copied.
type Histogram struct {
	shards [shards]atomic.Pointer[shard]
}

const (
	shardBits = 3
	shards    = 1 << shardBits
)

// A shard is the part of a histogram that some goroutines record into.
type shard struct {
	sum     atomic.Uint64 // wraps
	max     atomic.Uint64
	notMin  atomic.Uint64 // the complement of the least; 0: there is none
	clamped atomic.Uint64
	blocks  [blocks]atomic.Pointer[block]

	_ [32]byte // to whole cache lines, which no other shard shares
}

type block [perBlock]atomic.Uint64

// Record counts d. A negative d counts as 0, and as clamped.
func (h *Histogram) Record(d time.Duration) { h.RecordN(d, 1) }

// RecordN counts d n times, as for n operations that shared one flush.
func (h *Histogram) RecordN(d time.Duration, n uint64) {
	if n == 0 {
		return
	}
	// Goroutines have stacks of at least 2 KiB, whose addresses are unlike.
	// That one goroutine may record into several shards, as it calls from
	// several depths or its stack moves, does no harm.
	var here byte
	const golden = 0x9E3779B97F4A7C15
	s := h.shard(uint64(uintptr(unsafe.Pointer(&here))>>12) * golden >> (64 - shardBits))
	v := uint64(d)
	if v >= top {
		v = s.clamp(d, n)
	}
	e, i := bucketOf(min(v, top-1))
	b := s.blocks[e].Load()
	if b == nil {
		b = allocate(&s.blocks[e])
	}
	b[i].Add(n)
	s.sum.Add(v * n)
	if v > s.max.Load() {
		raise(&s.max, v)
	}
	if ^v > s.notMin.Load() {
		raise(&s.notMin, ^v)
	}
}

// clamp counts d, which is outside the range, and returns what is to be
// summed.
func (s *shard) clamp(d time.Duration, n uint64) uint64 {
	s.clamped.Add(n)
	return uint64(max(d, 0))
}

func (h *Histogram) shard(i uint64) *shard {
	if s := h.shards[i].Load(); s != nil {
		return s
	}
	return allocate(&h.shards[i])
}

// allocate makes what p is to point to, unless another goroutine is faster.
func allocate[T any](p *atomic.Pointer[T]) *T {
	if t := new(T); p.CompareAndSwap(nil, t) {
		return t
	}
	return p.Load()
}

// raise makes a at least v.
func raise(a *atomic.Uint64, v uint64) {
	for old := a.Load(); v > old; old = a.Load() {
		if a.CompareAndSwap(old, v) {
			return
		}
	}
}

// Snapshot returns what has been recorded. A Record that has returned is in
// it; of one that is under way the count may be there without the sum.
func (h *Histogram) Snapshot() Snapshot {
	var counts [buckets]uint64
	var s Snapshot
	notMin := uint64(0)
	for i := range h.shards {
		sh := h.shards[i].Load()
		if sh == nil {
			continue
		}
		for e := range sh.blocks {
			if b := sh.blocks[e].Load(); b != nil {
				for i := range b {
					counts[e*perBlock+i] += b[i].Load()
				}
			}
		}
		s.sum += sh.sum.Load()
		s.max = max(s.max, sh.max.Load())
		notMin = max(notMin, sh.notMin.Load())
		s.clamped += sh.clamped.Load()
	}
	s.sum &= math.MaxInt64
	s.fill(&counts)
	if s.count == 0 {
		return Snapshot{}
	}
	s.min, s.clamped = ^notMin, min(s.clamped, s.count)
	s.tidy()
	return s
}
