package claims

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/mpsc"
)

const (
	l2Capacity = 1024 // entries that a queue holds
	l2Batch    = 64   // entries that a consumer takes at once, at most
	l2Data     = 512  // bytes of an entry, as published
)

// An l2Entry is the published entry: 524 bytes, aligned to 64 in the array of a ring.
type l2Entry struct {
	time   int64
	length uint32
	data   [l2Data]byte
}

// An l2Queue hands entries from producers to consumers.
type l2Queue interface {
	// push hands an entry over. It waits while the queue is full.
	push(e *l2Entry)
	// take fills batch and returns how many it took. It returns 0 at once if there is
	// nothing, and -1 if there will be nothing any more.
	take(batch []l2Entry) int
	// close says that everything was pushed.
	close()
}

// lockedSlice is a slice under a lock, used as a ring, so that nothing in it has to move.
type lockedSlice struct {
	mu       sync.Mutex
	items    []l2Entry
	first, n int // the entries from first on, round the end
	closed   bool
}

func newLockedSlice() l2Queue { return &lockedSlice{items: make([]l2Entry, l2Capacity)} }

func (q *lockedSlice) push(e *l2Entry) {
	for {
		q.mu.Lock()
		if q.n < l2Capacity {
			q.items[(q.first+q.n)%l2Capacity] = *e
			q.n++
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		runtime.Gosched()
	}
}

func (q *lockedSlice) take(batch []l2Entry) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n == 0 && q.closed {
		return -1
	}
	n := min(len(batch), q.n)
	for i := range batch[:n] {
		batch[i] = q.items[(q.first+i)%l2Capacity]
	}
	q.first, q.n = (q.first+n)%l2Capacity, q.n-n
	return n
}

func (q *lockedSlice) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
}

// An l2Slot is a slot of a ring. Its sequence number has a cache line of its own, and so
// has the next slot: 576 bytes as published, and 64.
type l2Slot struct {
	seq atomic.Uint64
	_   [56]byte
	l2Entry
	_ [576 - 8 - 8 - l2Data]byte
}

// spmcRing is the ring as meant: one producer, many consumers, nothing lost. A slot's
// sequence number is its position when it is free, and one more when it is filled.
type spmcRing struct {
	slots  [l2Capacity]l2Slot
	_      [64]byte
	head   uint64 // the producer's own
	closed atomic.Bool
	_      [64]byte
	tail   atomic.Uint64 // consumers take from here
	_      [56]byte
}

func newSPMCRing() l2Queue {
	q := &spmcRing{}
	for i := range q.slots {
		q.slots[i].seq.Store(uint64(i))
	}
	return q
}

func (q *spmcRing) push(e *l2Entry) {
	s := &q.slots[q.head%l2Capacity]
	for s.seq.Load() != q.head {
		runtime.Gosched()
	}
	s.l2Entry = *e
	s.seq.Store(q.head + 1)
	q.head++
}

func (q *spmcRing) take(batch []l2Entry) int {
	closed := q.closed.Load() // before the look at the slots
	for {
		from := q.tail.Load()
		n := 0
		for n < len(batch) && q.slots[(from+uint64(n))%l2Capacity].seq.Load() == from+uint64(n)+1 {
			n++
		}
		if n == 0 && q.tail.Load() != from {
			continue // another consumer took them
		}
		if n == 0 && closed {
			return -1
		}
		if n == 0 || !q.tail.CompareAndSwap(from, from+uint64(n)) {
			if n == 0 {
				return 0
			}
			continue
		}
		for i := range n {
			s := &q.slots[(from+uint64(i))%l2Capacity]
			batch[i] = s.l2Entry
			s.seq.Store(from + uint64(i) + l2Capacity)
		}
		return n
	}
}

func (q *spmcRing) close() { q.closed.Store(true) }

// codedRing is the ring as coded: the producer moves head by compare-and-swap, fills the
// slot and sets commit; consumers read from head to commit, a range that is always empty.
// A full ring is overwritten.
type codedRing struct {
	slots  [l2Capacity]l2Slot
	head   atomic.Uint64
	_      [56]byte
	commit atomic.Uint64
	_      [56]byte
	closed atomic.Bool
}

func newCodedRing() l2Queue { return &codedRing{} }

func (q *codedRing) push(e *l2Entry) {
	at := q.head.Load()
	for !q.head.CompareAndSwap(at, at+1) {
		at = q.head.Load()
	}
	q.slots[at%l2Capacity].l2Entry = *e
	q.commit.Store(at + 1)
}

func (q *codedRing) take(batch []l2Entry) int {
	closed := q.closed.Load()
	n := 0
	for at := q.head.Load(); at < q.commit.Load() && n < len(batch); at++ {
		batch[n] = q.slots[at%l2Capacity].l2Entry
		n++
	}
	if n == 0 && closed {
		return -1
	}
	return n
}

func (q *codedRing) close() { q.closed.Store(true) }

// mpscRing is package mpsc: many producers, one consumer.
type mpscRing struct{ q *mpsc.Queue[l2Entry] }

func newMPSCRing() l2Queue { return mpscRing{mpsc.New[l2Entry](l2Capacity)} }

// Push fails only once its context is done or the queue is closed.
func (r mpscRing) push(e *l2Entry) { _ = r.q.Push(context.Background(), *e) }

func (r mpscRing) take(batch []l2Entry) int {
	n, err := r.q.PopBatch(context.Background(), batch, 0)
	if errors.Is(err, mpsc.ErrClosed) && n == 0 {
		return -1
	}
	return n
}

func (r mpscRing) close() { r.q.Close() }
