package logstore

import (
	"runtime"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/arena"
	"github.com/stele-go/stele/logstore/internal/listpool"
)

// A memtable is entries that are not yet sealed: an arena with the records of
// the log as they were written, and for each stream the rows that locate its
// entries in them.
//
// # Freezing
//
// A memtable that is full takes no more entries, and is sealed. Its contents
// must then be described by positions of the log alone, for the segment says
// which positions replay is to skip. So the memtable gets a boundary B: it has
// the entries of exactly the records before B that no earlier memtable has. No
// append waits for that. The order of steps:
//
//	append                              freeze
//	1. active.Load, enter               a. boundary = deciding
//	   (again if it is not active now)  b. B = the position after the last that
//	2. log.Append gives position P         the log has acknowledged
//	3. load the boundary                c. boundary = B, next = a new memtable
//	4. unset, or P < B: insert here;    d. active = next
//	   else go on with next at 3        e. wait until no append is inside
//	5. leave
//
// If step 3 finds the boundary unset, then a, and so b, come after 2, where the
// log acknowledged P: P < B. If it finds B, the comparison decides, and next is
// set. If an append enters the new memtable, its step 2 comes after d, and so
// after b, and no position is acknowledged twice: P >= B. So each memtable has
// the entries of the positions between its boundary and the previous one,
// however the steps of many appends interleave.
//
// After e all entries below B are in. An append that entered before d is
// counted, as step 1 loads active again after counting. Entries that go on to
// next are in there before their append leaves this memtable, and this one is
// sealed first; so when next is sealed, they are in.
type memtable struct {
	base    uint64 // boundary of the previous one: no position is lower
	after   uint64 // the last position that an earlier segment covers; the sealer has it
	arena   arena.Arena
	rows    *listpool.Pool[memRow] // for the lists of streams
	onAlloc func(bytes int64)      // called for memory taken
	// onRelease, unless nil, is called once nothing uses the memtable any more.
	onRelease func(*memtable)

	bytes  atomic.Int64 // memory taken
	count  atomic.Int64 // entries
	raw    atomic.Int64 // bytes of lines and metadata
	oldest atomic.Int64 // when the first entry came, by the clock, in ns; 0: none

	boundary  atomic.Uint64 // unset, deciding, or a position
	next      atomic.Pointer[memtable]
	appenders atomic.Int64
	left      chan struct{} // signalled when no append is inside, once the boundary is set
	refs      atomic.Int64  // the store's and those of views
	// sealed is set once the memtable has left the store while views use it.
	sealed atomic.Pointer[sealedMemtable]

	streams memStreams
}

// Values of memtable.boundary that are no position.
const (
	unset    = 0
	deciding = ^uint64(0)
)

func newMemtable(base uint64, pool *memtablePool, taken func(int64)) *memtable {
	m := &memtable{rows: pool.rows, base: base, after: base - 1, onAlloc: taken, left: make(chan struct{}, 1)}
	m.arena.Init(pool.chunks, m.charge)
	m.refs.Store(1)
	return m
}

func (m *memtable) charge(n int64) {
	m.bytes.Add(n)
	m.onAlloc(n)
}

// owns reports whether the entries of position pos belong here, and not in next
// or a later one. The caller is inside this memtable or an earlier one.
func (m *memtable) owns(pos uint64) bool {
	for {
		switch b := m.boundary.Load(); b {
		case unset:
			return true
		case deciding:
			runtime.Gosched() // the position is about to be read
		default:
			return pos < b
		}
	}
}

// freeze sets the boundary to the result of position, and makes next the owner
// of the positions from there on. The caller makes next the active one.
func (m *memtable) freeze(next *memtable, position func() uint64) {
	m.boundary.Store(deciding)
	b := position()
	next.base, next.after = b, b-1
	m.next.Store(next)
	m.boundary.Store(b)
}

// added counts entries that were inserted.
func (m *memtable) added(rows, raw, now int64) {
	m.count.Add(rows)
	m.raw.Add(raw)
	if m.oldest.Load() == 0 {
		m.oldest.CompareAndSwap(0, now)
	}
}

// leave ends what enter began.
func (m *memtable) leave() {
	if m.appenders.Add(-1) == 0 && m.boundary.Load() != unset {
		select {
		case m.left <- struct{}{}:
		default:
		}
	}
}

// waitDrained waits until no append is inside. The boundary is set, and the
// memtable is not the active one.
func (m *memtable) waitDrained() {
	for m.appenders.Load() != 0 {
		<-m.left
	}
}

// stream returns the rows of st, which it creates if there are none.
func (m *memtable) stream(st *stream) *memStream {
	if h := m.streams.Get(st.number); h != nil {
		return h
	}
	h, taken := m.streams.add(st)
	m.charge(taken)
	return h
}

// streamMemory returns the bytes that its streams take, without their rows, until the
// last of them is forgotten.
func (m *memtable) streamMemory() int64 { return int64(m.streams.Len()) * memStreamBytes }

// insert adds rows of one stream, which h has. It may reorder them.
func (m *memtable) insert(h *memStream, rows []memRow, raw int64) {
	m.charge(h.add(m.rows, rows, raw))
}

// all returns all rows of h, sorted. No append may be inside.
func (m *memtable) all(h *memStream) []memRow { return h.all(m.rows) }

// line returns the line of a row, valid as long as the row.
func (m *memtable) line(r memRow) []byte {
	return m.arena.Chunk(uint32(r.chunk))[r.off:][:r.lineLen():r.lineLen()]
}

// prefetch reads a byte of each cache line of the rows' lines. They lie far
// apart, and a CPU waits for each by itself where it is read when needed; here
// it waits for many at once.
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

// meta returns the encoded metadata of a row, nil if there are none.
func (m *memtable) meta(r memRow) []byte {
	if !r.hasMeta() {
		return nil
	}
	return metaAfter(m.arena.Chunk(uint32(r.chunk))[int(r.off)+r.lineLen():])
}

// acquire and release count the users of the memtable.
func (m *memtable) acquire() { m.refs.Add(1) }

func (m *memtable) release() {
	if m.refs.Add(-1) == 0 {
		for _, h := range m.streams.All() {
			h.release(m.rows)
		}
		m.arena.Release()
		if t := m.sealed.Load(); t != nil {
			t.release()
		}
		if m.onRelease != nil {
			m.onRelease(m)
		}
	}
}
