package catalog

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/profile"
)

// A file is a segment in the folder. It is read through a handle.
type file struct {
	id   uint64 // in this process, never used again
	name string // in the folder of segments
	span span
	info segment.Info

	opening sync.Mutex // held while it is being opened
	handle  atomic.Pointer[handle]
	// damage is the first that was found.
	damage atomic.Pointer[segment.CorruptError]

	// Of whoever maintains:

	// retry is when the next attempt to merge or repair it is due, after one
	// that failed.
	retry time.Time
	// replaced are the files that this one was merged or salvaged from. It must
	// not be deleted before they are gone for good: see reap.
	replaced []*grave
}

// descriptors is how many descriptors a handle takes at most: one to read by,
// one of the mapping.
const descriptors = 2

// A handle is a file that is open. Whoever uses it is counted.
type handle struct {
	file *file
	seg  *segment.Segment
	src  *source

	refs atomic.Int64 // who uses it, and the table
	used atomic.Bool  // since the clock's hand went by
	of   *table
}

// A table holds the handles, a bounded number. Of those that nobody uses one
// that was not used lately is closed where there is no room for another: the
// clock algorithm (Corbató, 1968), which, unlike a list by recency, is not
// written to by every use.
type table struct {
	dir     string
	profile *profile.Profile
	limit   int // of handles

	waiting atomic.Int64 // for room
	opens   atomic.Int64
	open    atomic.Int64 // taken, to be read without mu

	mu    sync.Mutex
	room  sync.Cond // of mu
	taken int       // len(clock) and those that are being opened
	clock []*handle
	hand  int
}

func newTable(dir string, files int, p *profile.Profile) *table {
	t := &table{dir: dir, profile: p, limit: max(files/descriptors, minHandles)}
	t.room.L = &t.mu
	return t
}

// minHandles is enough for a merge of two beside a few queries.
const minHandles = 8

// use returns the handle of the file, which is opened if it is not; it waits
// where as many are in use as there may be. Call done, soon.
func (t *table) use(f *file) (*handle, error) {
	if h := f.handle.Load(); h != nil && h.enter() {
		return h, nil
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	if h := f.handle.Load(); h != nil && h.enter() {
		return h, nil
	}
	t.take()
	h, err := t.openHandle(f)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.free()
		return nil, err
	}
	t.clock = append(t.clock, h)
	f.handle.Store(h)
	return h, nil
}

func (t *table) openHandle(f *file) (*handle, error) {
	t.opens.Add(1)
	src, err := openSource(filepath.Join(t.dir, f.name), t.profile)
	if err != nil {
		return nil, err
	}
	size, err := src.Size()
	var seg *segment.Segment
	if err == nil {
		seg, err = segment.Open(src, size)
	}
	if err != nil {
		src.Close()
		return nil, err
	}
	h := &handle{file: f, seg: seg, src: src, of: t}
	h.refs.Store(2)
	h.used.Store(true)
	return h, nil
}

// take waits for room for one more handle.
func (t *table) take() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.taken >= t.limit && !t.closeOne() {
		t.waiting.Add(1)
		// Who left before it could see that somebody waits has left room.
		if t.taken >= t.limit && !t.closeOne() {
			t.room.Wait()
		}
		t.waiting.Add(-1)
	}
	t.taken++
	t.open.Store(int64(t.taken))
}

// free gives back what take took. mu is held.
func (t *table) free() {
	t.taken--
	t.open.Store(int64(t.taken))
	t.room.Broadcast()
}

// enter counts one more who uses the handle, unless it is closed.
func (h *handle) enter() bool {
	for {
		n := h.refs.Load()
		if n == 0 {
			return false
		}
		if h.refs.CompareAndSwap(n, n+1) {
			if !h.used.Load() {
				h.used.Store(true)
			}
			return true
		}
	}
}

func (h *handle) done() {
	if h.refs.Add(-1) == 1 && h.of.waiting.Load() > 0 {
		h.of.mu.Lock()
		h.of.room.Broadcast()
		h.of.mu.Unlock()
	}
}

// closeOne makes room for a handle. It fails where all are in use. mu is held.
func (t *table) closeOne() bool {
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

// closeHandle closes that at i, if nobody uses it. mu is held.
func (t *table) closeHandle(i int) bool {
	h := t.clock[i]
	if !h.refs.CompareAndSwap(1, 0) {
		return false
	}
	h.file.handle.Store(nil)
	h.seg.Close()
	h.src.Close() // of a file that was only read, there is nothing to tell
	last := len(t.clock) - 1
	t.clock[i] = t.clock[last]
	t.clock[last] = nil
	t.clock = t.clock[:last]
	t.free()
	return true
}

// forget closes the file if it is open. It fails if somebody uses it.
func (t *table) forget(f *file) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, h := range t.clock {
		if h.file == f {
			return t.closeHandle(i)
		}
	}
	return true
}

// close closes all files. Nobody uses one any more.
func (t *table) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.clock) - 1; i >= 0; i-- {
		t.closeHandle(i)
	}
}
