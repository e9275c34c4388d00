package logstore

import (
	"iter"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	// pageStreams is how many streams a page has.
	pageStreams = 64
	// partNumbers is how many numbers a part of the index has.
	partNumbers = 64
)

// memStreams are the streams of a memtable: in pages, in the order in which
// they came, and by number. All but add take no lock.
//
// A reader that finds the place of a stream finds its page: add stores the page
// before it counts the stream, and counts it before it stores the place.
type memStreams struct {
	mu    sync.Mutex // held to add
	pages atomic.Pointer[[]*memPage]
	count atomic.Uint32
	parts atomic.Pointer[[]atomic.Pointer[memIndexPart]] // by number / partNumbers
}

// A memPage is one allocation, so that a pass over many streams reads memory in
// its order.
type memPage struct{ streams [pageStreams]memStream }

// A memIndexPart has for each number one more than the place of its stream, or
// 0. It has no pointers, which the garbage collector would have to follow.
type memIndexPart [partNumbers]atomic.Uint32

// memStreamBytes is the memory of a stream in a memtable, without its rows, and
// memPartBytes that of a part of the index, which streams with neighbouring
// numbers share.
const (
	memStreamBytes = int64(unsafe.Sizeof(memStream{}))
	memPartBytes   = int64(unsafe.Sizeof(memIndexPart{})) + 8
)

// Get returns the stream with number n, or nil.
func (t *memStreams) Get(n uint32) *memStream {
	part := t.part(n)
	if part == nil {
		return nil
	}
	at := part[n%partNumbers].Load()
	if at == 0 {
		return nil
	}
	return t.at(at - 1)
}

func (t *memStreams) part(n uint32) *memIndexPart {
	parts := t.parts.Load()
	if parts == nil || int64(n/partNumbers) >= int64(len(*parts)) {
		return nil
	}
	return (*parts)[n/partNumbers].Load()
}

func (t *memStreams) at(i uint32) *memStream {
	return &(*t.pages.Load())[i/pageStreams].streams[i%pageStreams]
}

// Len returns the number of streams.
func (t *memStreams) Len() int { return int(t.count.Load()) }

// All ranges over the streams, in the order in which they came.
func (t *memStreams) All() iter.Seq2[uint32, *memStream] {
	return func(yield func(uint32, *memStream) bool) {
		for i := range t.count.Load() {
			if h := t.at(i); !yield(h.of.number, h) {
				return
			}
		}
	}
}

// add returns the rows of st, which it creates if there are none, and the memory
// that it took.
func (t *memStreams) add(st *stream) (h *memStream, taken int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.Get(st.number); h != nil {
		return h, 0
	}
	i := t.count.Load()
	if i%pageStreams == 0 {
		var pages []*memPage
		if p := t.pages.Load(); p != nil {
			pages = *p
		}
		// Readers see the old slice or the new; both share the old pages.
		pages = append(pages, new(memPage))
		t.pages.Store(&pages)
	}
	h = t.at(i)
	h.of = st
	st.memtables.Add(1)
	t.count.Store(i + 1)
	part, taken := t.growPart(st.number)
	part[st.number%partNumbers].Store(i + 1)
	return h, taken + memStreamBytes
}

// growPart returns the part of the index for number n, which it creates if there
// is none. mu is held.
func (t *memStreams) growPart(n uint32) (part *memIndexPart, taken int64) {
	if part := t.part(n); part != nil {
		return part, 0
	}
	at := int(n / partNumbers)
	var parts []atomic.Pointer[memIndexPart]
	if p := t.parts.Load(); p != nil {
		parts = *p
	}
	if at >= len(parts) {
		larger := make([]atomic.Pointer[memIndexPart], max(16, 2*len(parts), at+1))
		for i := range parts {
			larger[i].Store(parts[i].Load())
		}
		t.parts.Store(&larger)
		parts = larger
	}
	part = new(memIndexPart)
	parts[at].Store(part)
	return part, memPartBytes
}
