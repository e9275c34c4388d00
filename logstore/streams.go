package logstore

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/labelindex"
)

// A stream is what the store knows of a stream beside its entries.
type stream struct {
	number uint32 // of labelindex
	labels Labels
	// newest is the time of the newest entry that was ever accepted since the
	// stream is known, or noTime.
	newest atomic.Int64
}

const noTime = -1

func (st *stream) advance(t int64) {
	for old := st.newest.Load(); t > old; old = st.newest.Load() {
		if st.newest.CompareAndSwap(old, t) {
			return
		}
	}
}

// streamTable is the streams that entries have been added to.
//
// A stream that has no entry any more is forgotten, and its number is given to
// another one. That must not happen while an append is about to add to it. An
// append holds its streams by a head in the memtable that it has entered: hold
// makes it with gate held for reading, forget looks for one with gate held for
// writing, and a memtable leaves Store.mems only after the appends in it. That
// a query does not take one stream for another is labelindex.Pin's business.
type streamTable struct {
	labels *labelindex.Index
	// newest is asked when a stream is met that has been sealed already.
	newest func(n uint32) (int64, bool)

	holdMu sync.RWMutex
	mu     sync.Mutex
	list   atomic.Pointer[[]atomic.Pointer[stream]] // by number; changed with mu held
	unused []uint32                                 // with gate held: to be forgotten when they can be
}

// find returns the stream with these labels, nil if there is none.
func (t *streamTable) find(l Labels) *stream {
	t.holdMu.RLock()
	defer t.holdMu.RUnlock()
	n, ok := t.labels.Find(l.enc)
	if !ok {
		return nil
	}
	return t.get(n, l)
}

// add returns the stream with these labels, a new one if there is none.
func (t *streamTable) add(l Labels) *stream {
	t.holdMu.RLock()
	defer t.holdMu.RUnlock()
	n, _ := t.labels.Add(l.enc)
	return t.get(n, l)
}

// hold makes a head for the stream in m, in which the caller is counted, and
// returns the stream: another one if this one was forgotten meanwhile.
func (t *streamTable) hold(st *stream, m *memtable) *stream {
	if m.findStream(st.number) != nil && t.at(st.number) == st {
		return st
	}
	t.holdMu.RLock()
	defer t.holdMu.RUnlock()
	if t.at(st.number) != st {
		n, _ := t.labels.Add(st.labels.enc)
		again := t.get(n, st.labels)
		again.advance(st.newest.Load())
		st = again
	}
	m.stream(st.number)
	return st
}

func (t *streamTable) at(n uint32) *stream {
	p := t.list.Load()
	if p == nil || int(n) >= len(*p) {
		return nil
	}
	return (*p)[n].Load()
}

// get returns the stream with number n and labels l. The gate is held since it
// was found to have that number.
func (t *streamTable) get(n uint32, l Labels) *stream {
	if st := t.at(n); st != nil {
		return st
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if st := t.at(n); st != nil {
		return st
	}
	st := &stream{number: n, labels: l}
	st.newest.Store(noTime)
	if newest, ok := t.newest(n); ok {
		st.newest.Store(newest)
	}
	t.set(n, st)
	return st
}

// set is called with mu held, or gate for writing.
func (t *streamTable) set(n uint32, st *stream) {
	var list []atomic.Pointer[stream]
	if p := t.list.Load(); p != nil {
		list = *p
	}
	if int(n) >= len(list) {
		more := make([]atomic.Pointer[stream], max(64, 2*len(list), int(n)+1))
		for i := range list {
			more[i].Store(list[i].Load())
		}
		t.list.Store(&more)
		list = more
	}
	list[n].Store(st)
}

// addUnused takes note of streams that may have no entry anywhere, for forget.
func (t *streamTable) addUnused(streams []uint32) {
	t.holdMu.Lock()
	defer t.holdMu.Unlock()
	t.unused = append(t.unused, streams...)
}

// forget takes note that streams have no entry in any segment any more, and
// forgets all those of which used says that they are not used otherwise. used
// is called while no append can begin to use one.
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
		if t.at(n) != nil {
			t.set(n, nil)
		}
	}
	t.labels.Remove(now...)
}
