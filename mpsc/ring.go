package mpsc

import (
	"math/bits"
	"sync/atomic"
)

// pad keeps what stands before it and what stands behind it out of each
// other's cache line. A line is 64 bytes on amd64, but its prefetcher fetches
// lines in aligned pairs (Intel's optimization manual, "spatial prefetcher"),
// and on arm64 a line may be 128 bytes long: so 128, whatever the alignment.
// On an AMD EPYC 64 measure the same.
type pad [128]byte

// closedBit stands in ring.tail above the position. A closed tail is above
// every limit, so that producers test for it only when they seem to be at the
// limit anyway.
const closedBit = 1 << 63

// ring hands out positions: to producers for filling, in order, to the
// consumer for taking, in the same order. Position p lives in slot p&mask.
// Positions only grow; at a billion a second they last 290 years.
//
// It is Vyukov's bounded queue (1024cores.net, "Bounded MPMC queue") for one
// consumer: that there is room shows in head, which the consumer alone moves,
// and not in each slot. So a slot is marked only when it is filled, and a
// batch is taken by one store.
type ring struct {
	mask     uint64
	capacity uint64
	// marks[p&mask] is mark(p) once the value at p may be read.
	marks []atomic.Uint32
	_     pad

	// tail is the next position to be filled, and closedBit. Whoever moves it
	// by compare-and-swap owns the position, must fill it, and is accepted:
	// nobody is after closedBit was set.
	tail atomic.Uint64
	// limit is a head that some producer has read, plus capacity: the
	// positions below it are free. It saves the others reading head, which
	// the consumer's core keeps taking away. It may be older than the head,
	// never newer.
	limit atomic.Uint64
	_     pad

	// head is the oldest position that is not free again. Its store is what
	// hands the slots below back to the producers.
	head atomic.Uint64
	// next is head as the consumer knows it; the consumer's alone.
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

// mark tells a position from those one and more laps before it: a slot has
// the mark of the lap before until it is filled, and a ring has at most 1<<31
// slots.
func mark(p uint64) uint32 { return uint32(p) + 1 }

// claim gives the caller a position that it must fill, or says why there is
// none: ErrFull or ErrClosed.
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
					return 0, errUnmade
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

// room reports whether claim would not say ErrFull.
func (r *ring) room() bool {
	p := r.tail.Load()
	return p&closedBit != 0 || p < r.head.Load()+r.capacity
}

// isFilled reports whether the value at p, which is not below next, may be
// read.
func (r *ring) isFilled(p uint64) bool {
	return r.marks[p&r.mask].Load() == mark(p)
}

// filled is the number of values that may be read from next on, at most max.
func (r *ring) filled(max uint64) uint64 {
	n := uint64(0)
	for n < max && r.isFilled(r.next+n) {
		n++
	}
	return n
}

// isClosed reports whether closedBit is set, isDrained whether also all that
// was accepted has been taken.
func (r *ring) isClosed() bool  { return r.tail.Load()&closedBit != 0 }
func (r *ring) isDrained() bool { return r.tail.Load() == r.next|closedBit }

// len is the number of positions given to producers and not yet taken.
func (r *ring) len() int {
	head := r.head.Load() // first, so that the tail is not below it
	return int(min(r.tail.Load()&^closedBit-head, r.capacity))
}
