package logstore

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/labelindex"
)

// A stream is the state of a stream, apart from its entries.
type stream struct {
	number uint32 // of labelindex
	labels Labels
	// newest is the time of the newest entry accepted since the stream is
	// known, or noTime.
	newest atomic.Int64
	// counted is the half hour in which the census has counted the stream.
	counted atomic.Uint32
}

const noTime = -1

func (st *stream) advance(t int64) {
	for old := st.newest.Load(); t > old; old = st.newest.Load() {
		if st.newest.CompareAndSwap(old, t) {
			return
		}
	}
}

// streamTable holds the streams that have entries.
//
// An append registers its streams once, with hold, when nothing but the log can
// fail any more. If the log fails, an empty slot stays in the memtable until
// that leaves the store.
//
// A stream without entries is forgotten, and its number is reused. That must
// not happen while an append is about to add to it. An append holds its streams
// by rows in the memtable that it has entered: hold creates them with holdMu
// read-held, forget looks for them with holdMu held, and a memtable leaves
// Store.mems only after the appends inside it. labelindex.Pin keeps a query
// from taking one stream for another.
type streamTable struct {
	labels *labelindex.Index
	// newest is called for a stream that was sealed before it is known.
	newest func(n uint32) (int64, bool)

	holdMu sync.RWMutex
	mu     sync.Mutex
	list   labelindex.ByNumber[stream] // changed with mu held, or holdMu for writing
	unused []uint32                    // guarded by holdMu: to be forgotten once nothing uses them
}

// find returns the stream with these labels, or nil. It may be forgotten until
// it is held.
func (t *streamTable) find(l Labels) *stream {
	t.holdMu.RLock()
	defer t.holdMu.RUnlock()
	n, ok := t.labels.Find(l.enc)
	if !ok {
		return nil
	}
	return t.get(n, l)
}

// hold returns the stream with these labels and its rows in m, which the caller
// has entered, and creates what is missing. st is the result of find.
func (t *streamTable) hold(st *stream, l Labels, m *memtable) (*stream, *memStream) {
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
		n, _ := t.labels.Add(l.enc)
		st = t.get(n, l)
		st.advance(newest)
	}
	return st, m.stream(st)
}

// get returns the stream with number n and labels l. holdMu is held since the
// number was found.
func (t *streamTable) get(n uint32, l Labels) *stream {
	if st := t.list.Get(n); st != nil {
		return st
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if st := t.list.Get(n); st != nil {
		return st
	}
	st := &stream{number: n, labels: l}
	st.newest.Store(noTime)
	if newest, ok := t.newest(n); ok {
		st.newest.Store(newest)
	}
	t.list.Set(n, st)
	return st
}

// addUnused records streams that may have no entry anywhere, for forget.
func (t *streamTable) addUnused(streams []uint32) {
	t.holdMu.Lock()
	defer t.holdMu.Unlock()
	t.unused = append(t.unused, streams...)
}

// forget records streams that have no entry in any segment any more, and
// forgets all recorded ones for which used returns false. No append can begin
// to use a stream during the call.
func (t *streamTable) forget(streams []uint32, used func(n uint32) bool) {
	t.holdMu.Lock()
	defer t.holdMu.Unlock()
	t.unused = append(t.unused, streams...)
	slices.Sort(t.unused)
	t.unused = slices.Compact(t.unused)
	var now []uint32
	t.unused = slices.DeleteFunc(t.unused, func(n uint32) bool {
		if used(n) {
			return false
		}
		now = append(now, n)
		return true
	})
	if len(now) == 0 {
		return
	}
	for _, n := range now {
		if t.list.Get(n) != nil {
			t.list.Set(n, nil)
		}
	}
	t.labels.Remove(now...)
}
