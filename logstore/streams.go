package logstore

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/labelindex"
)

// A stream is the state of a stream that has entries in memory, apart from the
// entries.
type stream struct {
	number uint32 // of labelindex
	tenant *tenant
	labels Labels
	// created orders streams by their creation.
	created uint64
	// newest is the time of the newest entry that is known, or noTime. Entries in
	// memory are known, and those in segments that are later than above.
	newest, above atomic.Int64
	// counted is the half hour in which the census has counted the stream.
	counted atomic.Uint32
	// memtables is how many have the stream. It is 0 only with streamTable.holdMu
	// held.
	memtables atomic.Int32
}

const (
	noTime = -1
	// streamBytes is about the memory of a stream beside what the index of labels has.
	streamBytes = 96
	// newStreamBytes and newLabelBytes are about the memory of a stream that is to be
	// created, with its place in the index of labels, and of each of its labels,
	// without their text.
	newStreamBytes = 256
	newLabelBytes  = 136
)

func (st *stream) advance(t int64) {
	for old := st.newest.Load(); t > old; old = st.newest.Load() {
		if st.newest.CompareAndSwap(old, t) {
			return
		}
	}
}

// learned notes that newest counts all entries in segments that are later than
// above.
func (st *stream) learned(newest, above int64) {
	st.advance(newest) // first, as above is read first
	for old := st.above.Load(); above < old; old = st.above.Load() {
		if st.above.CompareAndSwap(old, above) {
			return
		}
	}
}

// streamTable holds the streams that a memtable has. Those of segments are
// known to their segments alone.
//
// An append registers its streams once, with hold, when nothing but the log can
// fail any more. If the log fails, an empty slot stays in the memtable until
// that leaves the store.
//
// A stream is forgotten, and its number is reused, once the last memtable that
// has it is released. That must not happen while an append is about to add to
// it. An append holds its streams by rows in the memtable that it has entered:
// hold creates them with holdMu read-held, and forget removes the others with
// holdMu held. A query holds the memtables of its view, and so their streams;
// numbers that it looks up may be those of a later stream in a younger memtable,
// which it knows by created.
type streamTable struct {
	labels  *labelindex.Index
	created atomic.Uint64 // streams so far

	holdMu  sync.RWMutex
	mu      sync.Mutex                  // held to create a stream
	list    labelindex.ByNumber[stream] // changed with mu held, or holdMu for writing
	known   int64                       // streams of list; so is this
	tenants int64                       // of these streams; and this
	taken   atomic.Int64                // bytes of memory; and this

	onTake func(bytes int64) // called for memory taken, or given back

	released releasedMemtables
}

// find returns the stream of a tenant with these labels, or nil. It may be
// forgotten until it is held.
func (t *streamTable) find(of *tenant, l Labels) *stream {
	t.holdMu.RLock()
	defer t.holdMu.RUnlock()
	n, ok := t.labels.Find(of.number, l.enc)
	if !ok {
		return nil
	}
	return t.list.Get(n)
}

// hold returns the stream with these labels and its rows in m, and creates what is
// missing. The caller has entered m and the tenant. st is the result of find.
func (t *streamTable) hold(st *stream, of *tenant, l Labels, m *memtable) (*stream, *memStream) {
	if st != nil {
		// If m has rows of st, it has held st since they were created.
		if h := m.streams.Get(st.number); h != nil && h.of == st {
			return st, h
		}
	}
	t.holdMu.RLock()
	defer t.holdMu.RUnlock()
	newest := int64(noTime)
	if st != nil && t.list.Get(st.number) != st { // forgotten since
		st, newest = nil, st.newest.Load()
	}
	if st == nil {
		st = t.create(of, l)
		st.advance(newest)
	}
	return st, m.stream(st)
}

// create returns the stream with these labels, which it creates if there is none.
// holdMu is read-held.
func (t *streamTable) create(of *tenant, l Labels) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, _ := t.labels.Add(of.number, l.enc)
	if st := t.list.Get(n); st != nil {
		return st
	}
	enc, _ := t.labels.Labels(n) // a copy: l may be a part of something large
	// Numbered after it can be found: see memorySources.
	st := &stream{number: n, tenant: of, labels: Labels{enc}, created: t.created.Add(1)}
	of.uses.Add(1)
	if of.streams.Add(1) == 1 {
		t.tenants++
	}
	st.newest.Store(noTime)
	st.above.Store(math.MaxInt64)
	t.list.Set(n, st)
	t.known++
	t.charge()
	return st
}

// charge counts the memory of all streams. mu is held, or holdMu.
func (t *streamTable) charge() {
	bytes := t.known*streamBytes + t.tenants*tenantBytes + t.labels.Bytes()
	t.onTake(bytes - t.taken.Swap(bytes))
}

// forgetAtOnce is how many streams are forgotten between two appends.
const forgetAtOnce = 1 << 10

// forget forgets the streams that only m has, which nothing uses any more.
func (t *streamTable) forget(m *memtable) {
	var some []*stream
	for _, h := range m.streams.All() {
		if some = append(some, h.of); len(some) == forgetAtOnce {
			t.leave(some)
			some = some[:0]
		}
	}
	t.leave(some)
}

// leave counts one memtable less for each of the streams.
func (t *streamTable) leave(streams []*stream) {
	t.holdMu.Lock()
	defer t.holdMu.Unlock()
	var unused []uint32
	for _, st := range streams {
		if st.memtables.Add(-1) == 0 {
			t.list.Set(st.number, nil)
			unused = append(unused, st.number)
		}
	}
	t.labels.Remove(unused...)
	for _, st := range streams {
		if st.memtables.Load() == 0 {
			if st.tenant.streams.Add(-1) == 0 {
				t.tenants--
			}
			st.tenant.uses.Add(-1)
		}
	}
	t.known -= int64(len(unused))
	t.charge()
	t.onTake(-int64(len(streams)) * memStreamBytes)
}

// releasedMemtables are memtables whose streams may be forgotten.
type releasedMemtables struct {
	signal
	mu   sync.Mutex
	list []*memtable
}

func (r *releasedMemtables) add(m *memtable) {
	r.mu.Lock()
	r.list = append(r.list, m)
	r.mu.Unlock()
	r.wake()
}

// forgetReleased forgets what only memtables had that nothing uses any more.
func (s *Store) forgetReleased() {
	s.streams.forgetReleased()
	s.tenants.forgetUnused(halfOf(s.o.Clock.Elapsed()))
}

// forgetReleased forgets the streams of memtables that nothing uses any more.
func (t *streamTable) forgetReleased() {
	r := &t.released
	r.mu.Lock()
	list := r.list
	r.list = nil
	r.mu.Unlock()
	for _, m := range list {
		t.forget(m)
	}
}
