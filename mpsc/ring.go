package mpsc

import (
	"math/bits"
	"sync/atomic"
)

// pad puts the fields before and after it into different cache lines. A line has
// 64 bytes on amd64, but the prefetcher fetches lines in aligned pairs (Intel's
// optimization manual, "spatial prefetcher"), and on arm64 a line may have 128
// bytes: so 128, whatever the alignment. On an AMD EPYC 64 measure the same.
type pad [128]byte

// closedBit is set in ring.tail, above the position. A closed tail is above every
// limit, so producers test for it only when they seem to be at the limit.
const closedBit = 1 << 63

// A ring assigns positions: to producers in order, for filling, to the consumer in
// the same order, for taking. Position p is in slot p&mask. Positions only grow;
// at a billion a second they last 290 years.
//
// It is Vyukov's bounded queue (1024cores.net, "Bounded MPMC queue") for one
// consumer: free slots follow from head, which only the consumer moves, and not
// from a mark on each slot. So a slot is marked only when it is filled, and a
// batch is freed by one store.
type ring struct {
	mask     uint64
	capacity uint64
	// marks[p&mask] is mark(p) once the value at p is filled.
	marks []atomic.Uint32
	_     pad

	// tail is the next position to be filled, and closedBit. The producer that
	// advances it by compare-and-swap owns the position and must fill it: its
	// value is accepted. None is after closedBit is set.
	tail atomic.Uint64
	// limit is a head that a producer has read, plus capacity: the positions
	// below it are free. It saves the others reading head, whose cache line the
	// consumer's core keeps taking. It may be older than head, never newer.
	limit atomic.Uint64
	_     pad

	// head is the oldest position that is not free. Storing it returns the slots
	// below to the producers.
	head atomic.Uint64
	// next is the consumer's copy of head.
	next uint64
	_    pad
}

func (r *ring) init(capacity int) {
	size := uint64(1) << bits.Len(uint(capacity-1))
	r.mask = size - 1
	r.capacity = uint64(capacity)
	r.marks = make([]atomic.Uint32, size)
	r.limit.Store(r.capacity)
}

// mark distinguishes a position from earlier ones in the same slot: a slot has the
// mark of the previous one until it is filled. A ring has at most 1<<31 slots.
func mark(p uint64) uint32 { return uint32(p) + 1 }

// claim returns a position that the caller must fill, or ErrFull or ErrClosed.
func (r *ring) claim() (uint64, error) {
	for {
		p := r.tail.Load()
		if p >= r.limit.Load() {
			if p&closedBit != 0 {
				return 0, ErrClosed
			}
			limit := r.head.Load() + r.capacity
			if p >= limit {
				if r.capacity == 0 {
					return 0, errZero
				}
				return 0, ErrFull
			}
			r.limit.Store(limit)
		}
		if r.tail.CompareAndSwap(p, p+1) {
			return p, nil
		}
	}
}

// claimable reports whether claim would not return ErrFull.
func (r *ring) claimable() bool {
	p := r.tail.Load()
	return p&closedBit != 0 || p < r.head.Load()+r.capacity
}

// isFilled reports whether position p, which is not below next, is filled.
func (r *ring) isFilled(p uint64) bool {
	return r.marks[p&r.mask].Load() == mark(p)
}

// filled returns the number of filled positions from next on, at most max.
func (r *ring) filled(max uint64) uint64 {
	n := uint64(0)
	for n < max && r.isFilled(r.next+n) {
		n++
	}
	return n
}

// isClosed reports whether closedBit is set, isDrained whether also all accepted
// values are taken.
func (r *ring) isClosed() bool  { return r.tail.Load()&closedBit != 0 }
func (r *ring) isDrained() bool { return r.tail.Load() == r.next|closedBit }

// len returns the number of positions claimed and not yet taken.
func (r *ring) len() int {
	head := r.head.Load() // first, so that the tail is not below it
	return int(min(r.tail.Load()&^closedBit-head, r.capacity))
}
