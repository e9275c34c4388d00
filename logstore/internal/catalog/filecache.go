package catalog

import (
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/segment"
)

// A file is a segment in the directory. It is read through a handle.
type file struct {
	id        uint64 // in this process, never reused
	name      string // in segments/
	positions positions
	info      segment.Info
	parts     *segmentParts // of its index, in the catalog's cache

	opening sync.Mutex // held while it is being opened
	handle  atomic.Pointer[handle]
	// damage is the first damage found.
	damage atomic.Pointer[segment.CorruptError]

	// failure is that of the last attempt to compact or repair it. The holder of
	// the maintenance token owns it, and replaces.
	failure *failure
	// replaces are the files that this one was made from. It must not be
	// deleted before they are gone for good: see deleteObsolete.
	replaces []*obsoleteFile
}

// fdsPerFile is how many file descriptors a handle takes at most: one to read
// by, one of the mapping.
const fdsPerFile = 2

// A handle is an open file, with a count of its users.
type handle struct {
	file *file
	seg  *segment.Segment
	src  object

	refs  refCount    // its users, and the cache
	used  atomic.Bool // since the clock's hand passed
	cache *fileCache
}

// A fileCache holds a bounded number of handles. When it is full it closes one
// that is not in use and was not used lately, by the clock algorithm (Corbató,
// 1968), which, unlike a list by recency, is not written to by every use.
type fileCache struct {
	place place
	limit int // of handles
	// Beyond so many handles, there are as many more as their tables of streams
	// have bytes.
	sure   int
	tables int64

	waiting atomic.Int64 // for a slot
	opens   atomic.Int64
	open    atomic.Int64 // slots, to be read without mu

	mu     sync.Mutex
	freed  sync.Cond // guarded by mu
	slots  int       // len(clock) and the handles being opened
	weight int64     // of the tables that those in clock may hold
	clock  []*handle
	hand   int
}

func newFileCache(at place, files int) *fileCache {
	t := &fileCache{place: at, limit: max(files/fdsPerFile, minHandles), sure: sureHandles, tables: tableBytes}
	t.freed.L = &t.mu
	return t
}

const (
	// minHandles is enough for a compaction of two beside a few queries.
	minHandles = 8
	// So many handles there may be whatever their tables take. With more than that,
	// the segments of a year are open at once, if they have few streams: tableBytes
	// is enough for 1,024 segments of 400.
	sureHandles = 128
	tableBytes  = 48 << 20
)

// full reports whether another handle is one too many. mu is held.
func (t *fileCache) full() bool {
	return t.slots >= t.limit || t.slots >= t.sure && t.weight >= t.tables
}

// weight is about what the tables of the handle take, once they are read.
func (h *handle) weight() int64 {
	i := h.seg.Info()
	return 100*int64(i.Streams) + 44*int64(i.Blocks)
}

// acquire returns the handle of the file, which it opens if necessary; it waits
// while all handles are in use. The caller calls unref, soon.
func (t *fileCache) acquire(f *file) (*handle, error) {
	if h := f.handle.Load(); h != nil && h.tryRef() {
		return h, nil
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	if h := f.handle.Load(); h != nil && h.tryRef() {
		return h, nil
	}
	t.reserve()
	h, err := t.openHandle(f)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.unreserve()
		return nil, err
	}
	t.clock = append(t.clock, h)
	t.weight += h.weight()
	f.handle.Store(h)
	return h, nil
}

func (t *fileCache) openHandle(f *file) (*handle, error) {
	t.opens.Add(1)
	src, size, err := t.place.open(f.name)
	if err != nil {
		return nil, err
	}
	seg, err := segment.Open(src, size)
	if err != nil {
		src.Close()
		return nil, err
	}
	h := &handle{file: f, seg: seg, src: src, cache: t}
	h.refs.Store(2)
	h.used.Store(true)
	return h, nil
}

// reserve waits for a slot for one more handle.
func (t *fileCache) reserve() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.full() && !t.evictOne() {
		t.waiting.Add(1)
		// A user that left before waiting was raised has not signalled.
		if t.full() && !t.evictOne() {
			t.freed.Wait()
		}
		t.waiting.Add(-1)
	}
	t.slots++
	t.open.Store(int64(t.slots))
}

// unreserve gives back the slot of reserve. mu is held.
func (t *fileCache) unreserve() {
	t.slots--
	t.open.Store(int64(t.slots))
	t.freed.Broadcast()
}

// tryRef adds a user, unless the handle is closed.
func (h *handle) tryRef() bool {
	if !h.refs.tryAdd() {
		return false
	}
	if !h.used.Load() {
		h.used.Store(true)
	}
	return true
}

func (h *handle) unref() {
	if h.refs.Add(-1) == 1 && h.cache.waiting.Load() > 0 {
		h.cache.mu.Lock()
		h.cache.freed.Broadcast()
		h.cache.mu.Unlock()
	}
}

// evictOne closes a handle. It fails if all are in use. mu is held.
func (t *fileCache) evictOne() bool {
	for range 2 * len(t.clock) {
		t.hand++
		if t.hand >= len(t.clock) {
			t.hand = 0
		}
		h := t.clock[t.hand]
		if h.used.Swap(false) {
			continue
		}
		if t.closeHandle(t.hand) {
			return true
		}
	}
	return false
}

// closeHandle closes the handle at i, if it is not in use. mu is held.
func (t *fileCache) closeHandle(i int) bool {
	h := t.clock[i]
	if !h.refs.CompareAndSwap(1, 0) {
		return false
	}
	h.file.handle.Store(nil)
	t.weight -= h.weight()
	h.seg.Close()
	h.src.Close() // nothing was written
	last := len(t.clock) - 1
	t.clock[i] = t.clock[last]
	t.clock[last] = nil
	t.clock = t.clock[:last]
	t.unreserve()
	return true
}

// evict closes the file if it is open. It fails if it is in use.
func (t *fileCache) evict(f *file) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, h := range t.clock {
		if h.file == f {
			return t.closeHandle(i)
		}
	}
	return true
}

// close closes all files. None is in use any more.
func (t *fileCache) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.clock) - 1; i >= 0; i-- {
		t.closeHandle(i)
	}
}
