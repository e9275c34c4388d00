package latency

import (
	"math"
	"sync/atomic"
	"time"
	"unsafe"
)

// A Histogram counts durations. The zero value is empty and ready to use. Its
// methods are safe for concurrent use. Do not copy it.
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
	notMin  atomic.Uint64 // complement of the minimum, or 0
	clamped atomic.Uint64
	blocks  [blocks]atomic.Pointer[block]

	_ [32]byte // fills whole cache lines, which no other shard shares
}

type block [perBlock]atomic.Uint64

// Record counts d. A negative d counts as 0, and as clamped.
func (h *Histogram) Record(d time.Duration) { h.RecordN(d, 1) }

// RecordN counts d n times, for operations that a batch has completed together.
func (h *Histogram) RecordN(d time.Duration, n uint64) {
	if n == 0 {
		return
	}
	// Stacks of goroutines have at least 2 KiB each, so their addresses differ. A
	// goroutine that calls from several depths, or whose stack moves, records
	// into several shards, which does no harm.
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

// clamp counts d as out of range, and returns the value to be added to sum.
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

// allocate sets p to a new value, unless another goroutine has, and returns it.
func allocate[T any](p *atomic.Pointer[T]) *T {
	if t := new(T); p.CompareAndSwap(nil, t) {
		return t
	}
	return p.Load()
}

// raise sets a to v if a is less.
func raise(a *atomic.Uint64, v uint64) {
	for old := a.Load(); v > old; old = a.Load() {
		if a.CompareAndSwap(old, v) {
			return
		}
	}
}

// Snapshot returns the durations recorded so far. It includes every Record that
// has returned; of one under way it may include the count without the sum.
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
