package catalog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A file is a segment in the directory. It is read through a handle.
type file struct {
	id        uint64 // in this process, never reused
	name      string // in segments/
	positions positions
	parts     *segmentParts // of its index, in the catalog's cache

	// info and card are set when the file is opened first, before others than the
	// opener have it. Version 1 has no card.
	info    segment2.Info
	card    *segment2.Card
	dropped atomic.Bool // the card is counted no more

	opening sync.Mutex // held while it is being opened
	handle  atomic.Pointer[handle]
	// damage is the first damage found.
	damage atomic.Pointer[segment2.CorruptError]
	// applied: all deletes at lower positions have been applied to the file. It begins
	// as info.Applied, and grows where a delete turns out to meet none of its rows.
	applied atomic.Uint64

	// failure is that of the last attempt to compact or repair it. The holder of
	// the maintenance token owns it, and replaces.
	failure *failure
	// expired: it is to be rewritten without rows that have expired. It is looked at
	// again at expiryAt, by Clock.Elapsed. Both as failure.
	expired  bool
	expiryAt time.Duration
	// converting: it is of version 1, or has blocks of an old codec, and is being
	// rewritten for that; recoding: all such blocks are encoded again. As failure.
	converting, recoding bool
	// replaces are the files that this one was made from. It must not be
	// deleted before they are gone for good: see deleteObsolete.
	replaces []*obsoleteFile
}

// fdsPerFile is how many file descriptors a handle takes at most: one to read
// by, one of the mapping.
const fdsPerFile = 2

// A handle is an open file, with a count of its users.
type handle struct {
	file  *file
	src   Object
	index segment2.Index
	seg   *segment.Segment // of version 1, else nil

	refs   refCount    // its users, and the cache
	used   atomic.Bool // since the clock's hand passed
	listed atomic.Bool // in cache.loaded
	cache  *fileCache
}

// A fileCache holds a bounded number of handles. When it is full it closes one
// that is not in use and was not used lately, by the clock algorithm (Corbató,
// 1968), which, unlike a list by recency, is not written to by every use.
type fileCache struct {
	place Place
	limit int // of handles

	waiting atomic.Int64 // for a slot
	opens   atomic.Int64
	opened  atomic.Int64 // slots, to be read without mu

	mu     sync.Mutex
	freed  sync.Cond // guarded by mu
	slots  int       // len(clock) and the handles being opened
	clock  []*handle
	hand   int
	loaded tableList // of version 1
	cards  cardBudget
}

// newFileCache returns a cache of files. What is known of them takes memory of
// parts.
func newFileCache(at Place, files int, parts *partCache) *fileCache {
	t := &fileCache{place: at, limit: max(files/fdsPerFile, minHandles)}
	t.loaded.limit, t.loaded.parts = min(tableBytes, parts.bound/2), parts
	t.cards.limit, t.cards.parts = parts.bound/4, parts
	t.freed.L = &t.mu
	return t
}

// minHandles is enough for a compaction of two beside a few queries.
const minHandles = 8

// acquire returns the handle of the file, which it opens if necessary; it waits
// while all handles are in use. The caller calls unref, soon.
func (t *fileCache) acquire(ctx context.Context, f *file) (*handle, error) {
	h := f.handle.Load()
	if h == nil || !h.tryRef() {
		var err error
		if h, err = t.open(ctx, f); err != nil {
			return nil, err
		}
	}
	if h.seg != nil && !h.listed.Load() {
		t.listTables(h)
	}
	return h, nil
}

// open opens the file, unless another caller does just now.
func (t *fileCache) open(ctx context.Context, f *file) (*handle, error) {
	f.opening.Lock()
	defer f.opening.Unlock()
	if h := f.handle.Load(); h != nil && h.tryRef() {
		return h, nil
	}
	t.reserve()
	h, err := t.openHandle(ctx, f)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.unreserve()
		return nil, err
	}
	t.clock = append(t.clock, h)
	f.handle.Store(h)
	return h, nil
}

func (t *fileCache) openHandle(ctx context.Context, f *file) (*handle, error) {
	t.opens.Add(1)
	src, size, err := t.place.Open(ctx, f.name)
	if err != nil {
		return nil, err
	}
	h := &handle{file: f, src: src, cache: t}
	if err := h.open(ctx, size); err != nil {
		src.Close()
		return nil, err
	}
	h.refs.Store(2)
	h.used.Store(true)
	return h, nil
}

// open makes the index. The end of the file tells its version; a card is read
// once.
func (h *handle) open(ctx context.Context, size int64) error {
	f := h.file
	if f.card == nil && f.info.Version != 1 {
		card, err := segment2.OpenCard(segment2.Within(ctx, h.src), size)
		if err == nil {
			f.info = card.Info()
			h.cache.cards.take(f, card)
		} else if v, ok := errors.AsType[*segment2.VersionError](err); !ok || v.Version != 1 {
			return err
		}
	}
	if f.card != nil {
		h.index = f.card.Index(h.src, f.parts)
		return nil
	}
	seg, err := segment.Open(h.src, size)
	if err != nil {
		return err
	}
	h.seg, h.index = seg, seg.Index(f.parts)
	f.info = h.index.Info()
	return nil
}

// reserve waits for a slot for one more handle.
func (t *fileCache) reserve() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.slots >= t.limit && !t.evictOne() {
		t.waiting.Add(1)
		// A user that left before waiting was raised has not signalled.
		if t.slots >= t.limit && !t.evictOne() {
			t.freed.Wait()
		}
		t.waiting.Add(-1)
	}
	t.slots++
	t.opened.Store(int64(t.slots))
}

// unreserve gives back the slot of reserve. mu is held.
func (t *fileCache) unreserve() {
	t.slots--
	t.opened.Store(int64(t.slots))
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
	if h.seg != nil {
		t.loaded.remove(h)
		h.seg.Close()
	}
	h.src.Close() // nothing was written
	last := len(t.clock) - 1
	t.clock[i] = t.clock[last]
	t.clock[last] = nil
	t.clock = t.clock[:last]
	t.unreserve()
	return true
}

// evict closes the file, which is to be removed, if it is open. It fails if it is in
// use.
func (t *fileCache) evict(f *file) bool {
	t.cards.drop(f)
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
