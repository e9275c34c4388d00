package mkdir

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// known is a cache of the directories that exist, or did when last seen. It holds
// at most limit paths. A reader takes no lock and writes nothing, so readers on
// many processors do not slow each other down.
//
// It is set-associative: the hash of a path selects a group of eight pointers,
// one cache line, and a known path is at one of them.
type known struct {
	seed  maphash.Seed
	table atomic.Pointer[knownTable]

	// epoch grows with each clear. A call that relied on a known directory may
	// add to the cache, and at level Power return, only if the epoch is still
	// the one in which it started.
	epoch atomic.Uint64

	mu    sync.Mutex // held while a table is changed
	limit int        // 0 once closed
	count int        // entries in table
	hand  int        // of the clock that evicts
}

type (
	knownTable []knownGroup // its length is a power of two
	knownGroup [ways]atomic.Pointer[knownDir]
	knownDir   struct {
		hash uint64
		path string
	}
)

const ways = 8

func newKnown(limit int) *known {
	k := &known{seed: maphash.MakeSeed(), limit: limit}
	t := make(knownTable, 1)
	k.table.Store(&t)
	return k
}

// group returns the group of a hash and the slot in it to look at first.
func (t knownTable) group(hash uint64) (*knownGroup, int) {
	return &t[hash&uint64(len(t)-1)], int(hash >> 61)
}

// has reports whether path is known. A nil *known, of a zero Maker, has none.
func (k *known) has(path string) bool {
	if k == nil {
		return false
	}
	hash := maphash.String(k.seed, path)
	g, first := k.table.Load().group(hash)
	for i := range ways {
		d := g[(first+i)%ways].Load()
		if d != nil && d.hash == hash && d.path == path {
			return true
		}
	}
	return false
}

// add adds dirs, found in the given epoch, and keeps the slice. It reports
// whether that is still the epoch; if not it adds nothing. The paths must not be
// parts of the caller's larger strings, which they would keep in memory.
func (k *known) add(dirs []knownDir, epoch uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.epoch.Load() != epoch {
		return false
	}
	if k.limit == 0 { // closed
		return true
	}
	for i := range dirs {
		if !k.has(dirs[i].path) {
			dirs[i].hash = maphash.String(k.seed, dirs[i].path)
			k.insert(&dirs[i])
		}
	}
	return true
}

func (k *known) insert(d *knownDir) {
	if k.count == k.limit {
		k.evict()
	}
	for {
		t := *k.table.Load()
		g, first := t.group(d.hash)
		for i := range ways {
			if slot := &g[(first+i)%ways]; slot.Load() == nil {
				slot.Store(d)
				k.count++
				return
			}
		}
		// The group is full. A table with many empty slots per entry seldom
		// has a full group; at four, one entry of the group is evicted.
		if len(t)*ways/4 >= k.limit {
			k.hand++
			g[k.hand%ways].Store(d)
			return
		}
		k.grow(t)
	}
}

// grow doubles the table. Each group is split in two, so all entries fit.
func (k *known) grow(t knownTable) {
	bigger := make(knownTable, 2*len(t))
	for i := range t {
		for j := range t[i] {
			d := t[i][j].Load()
			if d == nil {
				continue
			}
			g, first := bigger.group(d.hash)
			for w := range ways {
				if slot := &g[(first+w)%ways]; slot.Load() == nil {
					slot.Store(d)
					break
				}
			}
		}
	}
	k.table.Store(&bigger)
}

// evict removes the next entry in the order of the table, which is random, as
// paths are spread by their hash.
func (k *known) evict() {
	t := *k.table.Load()
	for {
		k.hand++
		slot := &t[k.hand/ways%len(t)][k.hand%ways]
		if slot.Load() != nil {
			slot.Store(nil)
			k.count--
			return
		}
	}
}

// clear removes all entries and returns the new epoch. It is for the rare case
// that a known directory is missing, or was removed by Undo: to find the entries
// that depend on it is not worth the effort.
func (k *known) clear() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.count = 0
	t := make(knownTable, 1)
	k.table.Store(&t)
	return k.epoch.Add(1)
}

// forget removes the paths for which match returns true, and starts a new epoch.
func (k *known) forget(match func(path string) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := *k.table.Load()
	for i := range t {
		for w := range t[i] {
			if d := t[i][w].Load(); d != nil && match(d.path) {
				t[i][w].Store(nil)
				k.count--
			}
		}
	}
	k.epoch.Add(1)
}

// close removes all entries, for good.
func (k *known) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.limit, k.count = 0, 0
	t := make(knownTable, 1)
	k.table.Store(&t)
}
