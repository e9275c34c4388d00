package logstore

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A memtable is entries that are not yet sealed: an arena with the records of
// the log as they were written there, and for each stream a head that says
// where its entries are in them.
//
// # Freezing
//
// At some moment no more entries go into a memtable, and it is sealed. What is
// in it must then be known by positions of the log alone, for the segment says
// which positions replay is to leave out. So the memtable gets a boundary B: it
// has the entries of exactly the records before B that no earlier one has. No
// append waits for that. The order of steps:
//
//	append                              freeze
//	1. active.Load, enter               a. boundary = deciding
//	   (again if it is not active now)  b. B = the position after the last that
//	2. log.Append gives position P         the log has acknowledged
//	3. look at the boundary             c. boundary = B, next = a new memtable
//	4. unset, or P < B: insert here;    d. active = next
//	   else go on with next at 3        e. wait until nobody is in here
//	5. leave
//
// If 3 finds the boundary unset, then a, and so b, come after 2, where the log
// acknowledged P: P < B. If it finds B, the comparison decides, and next is
// there. If an append enters the new memtable, its 2 comes after d, and so
// after b, and no position is acknowledged twice: P >= B. So each memtable has
// the entries of the positions between its boundary and that before, no matter
// how the steps of many appends come between each other.
//
// After e all entries below B are in. Who entered before d is counted, as 1
// looks at active again after it has been counted. Entries that go on to next
// are in there before their append leaves this one, and this one is sealed
// first; so when next is sealed, they are in.
type memtable struct {
	base    uint64 // the boundary of the one before: no position is lower
	arena   arena
	onAlloc func(bytes int64) // told of memory taken

	bytes  atomic.Int64 // memory taken
	count  atomic.Int64 // entries
	raw    atomic.Int64 // bytes of lines and metadata
	oldest atomic.Int64 // when the first entry came, by the clock, in ns; 0: none

	boundary  atomic.Uint64 // unset, deciding, or a position
	next      atomic.Pointer[memtable]
	appenders atomic.Int64
	left      chan struct{} // told when nobody is inside, once the boundary is set
	refs      atomic.Int64  // the store's and those of views
	// sealed is set when it has left the store while views have it.
	sealed atomic.Pointer[sealedMemtable]

	mu    sync.Mutex // for new heads
	slots atomic.Pointer[[]atomic.Pointer[memStream]]
}

// Values of memtable.boundary that are no position.
const (
	unset    = 0
	deciding = ^uint64(0)
)

// memStreamBytes is what a stream costs in a memtable, without its rows.
const memStreamBytes = int64(unsafe.Sizeof(memStream{})+unsafe.Sizeof(atomic.Pointer[memStream]{})) + 16

func newMemtable(base uint64, pool *chunkPool, taken func(int64)) *memtable {
	m := &memtable{base: base, onAlloc: taken, left: make(chan struct{}, 1)}
	m.arena.pool, m.arena.onAlloc = pool, m.charge
	m.refs.Store(1)
	return m
}

func (m *memtable) charge(n int64) {
	m.bytes.Add(n)
	m.onAlloc(n)
}

// owns tells whether the entries of position pos belong in here, or else in
// next or later. It is for who is counted inside, or in one before.
func (m *memtable) owns(pos uint64) bool {
	for {
		switch b := m.boundary.Load(); b {
		case unset:
			return true
		case deciding:
			runtime.Gosched() // for the time that it takes to read a number
		default:
			return pos < b
		}
	}
}

// freeze sets the boundary to what position returns, and makes next the one
// that takes what comes from there on. The caller makes next the active one.
func (m *memtable) freeze(next *memtable, position func() uint64) {
	m.boundary.Store(deciding)
	b := position()
	next.base = b
	m.next.Store(next)
	m.boundary.Store(b)
}

// added counts entries that were put into heads.
func (m *memtable) added(rows, raw, now int64) {
	m.count.Add(rows)
	m.raw.Add(raw)
	if m.oldest.Load() == 0 {
		m.oldest.CompareAndSwap(0, now)
	}
}

// leave is for who was counted inside.
func (m *memtable) leave() {
	if m.appenders.Add(-1) == 0 && m.boundary.Load() != unset {
		select {
		case m.left <- struct{}{}:
		default:
		}
	}
}

// waitDrained waits until nobody is inside. The boundary is set, and the memtable
// is not the active one.
func (m *memtable) waitDrained() {
	for m.appenders.Load() != 0 {
		<-m.left
	}
}

// stream returns that of stream n, a new one if there is none.
func (m *memtable) stream(n uint32) *memStream {
	if h := m.findStream(n); h != nil {
		return h
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.findStream(n); h != nil {
		return h
	}
	var slots []atomic.Pointer[memStream]
	if p := m.slots.Load(); p != nil {
		slots = *p
	}
	if int(n) >= len(slots) {
		more := make([]atomic.Pointer[memStream], max(64, 2*len(slots), int(n)+1))
		for i := range slots {
			more[i].Store(slots[i].Load())
		}
		m.slots.Store(&more)
		slots = more
	}
	h := &memStream{pool: &m.arena.pool.rows}
	slots[n].Store(h)
	m.charge(memStreamBytes)
	return h
}

func (m *memtable) findStream(n uint32) *memStream {
	p := m.slots.Load()
	if p == nil || int(n) >= len(*p) {
		return nil
	}
	return (*p)[n].Load()
}

// allStreams ranges over the heads that have entries.
func (m *memtable) allStreams() iter.Seq2[uint32, *memStream] {
	return func(yield func(uint32, *memStream) bool) {
		p := m.slots.Load()
		if p == nil {
			return
		}
		for n := range *p {
			if h := (*p)[n].Load(); h != nil && !yield(uint32(n), h) {
				return
			}
		}
	}
}

// eachStream tells of each stream that has entries: the times of the first and the
// last, how many there are, and the bytes of their lines and metadata.
func (m *memtable) eachStream(f func(n uint32, min, max, rows, raw int64)) {
	for n := range m.allStreams() {
		if min, max, rows, raw := m.streamStats(n); rows > 0 {
			f(n, min, max, rows, raw)
		}
	}
}

// streamStats is streams of one of them; rows is 0 if it has no entries.
func (m *memtable) streamStats(n uint32) (min, max, rows, raw int64) {
	h := m.findStream(n)
	if h == nil {
		return 0, 0, 0, 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.min, h.max, int64(len(h.rows) + len(h.late)), h.raw
}

// rows appends the entries of stream n in [from, to) to dst, ordered by time,
// equal times as they were appended. Entries may be added meanwhile. The rows
// are good until the view that the memtable is of is released.
func (m *memtable) rows(dst []memRow, n uint32, from, to int64) []memRow {
	h := m.findStream(n)
	if h == nil {
		return dst
	}
	return h.between(dst, from, to)
}

// line returns the line of a row, valid as long as the row.
func (m *memtable) line(r memRow) []byte {
	return m.arena.chunk(r.chunk)[r.off:][:r.lineLen():r.lineLen()]
}

// prefetch reads a byte of each cache line of the rows' lines. They lie far apart,
// and each is waited for by itself if it is read when it is needed; here, the
// processor waits for many at once.
func (m *memtable) prefetch(rows []memRow) (sum byte) {
	const cacheLine = 64
	for _, r := range rows {
		line := m.line(r)
		for i := 0; i < len(line); i += cacheLine {
			sum += line[i]
		}
	}
	return sum
}

// meta returns the metadata of a row, as they are encoded in Labels; empty if
// there are none.
func (m *memtable) meta(r memRow) []byte {
	if !r.hasMeta() {
		return nil
	}
	return metaAfter(m.arena.chunk(r.chunk)[int(r.off)+r.lineLen():])
}

// acquire and release count who uses the memtable.
func (m *memtable) acquire() { m.refs.Add(1) }

func (m *memtable) release() {
	if m.refs.Add(-1) == 0 {
		for _, h := range m.allStreams() {
			h.release()
		}
		m.arena.release()
		if t := m.sealed.Load(); t != nil {
			t.release()
		}
	}
}
