package mkdir

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// known is the set of directories that are there, or were when last seen. It
// holds at most limit paths. A reader takes no lock and writes nothing, so
// readers on many processors do not disturb each other.
//
// It is a set-associative cache: the hash of a path chooses a group of eight
// pointers, one cache line, and the path is in one of them or not known.
type known struct {
	seed  maphash.Seed
	table atomic.Pointer[knownTable]

	mu    sync.Mutex // held by whoever changes a table
	limit int
	count int // entries in table
	hand  int // where eviction goes on
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

func (k *known) has(path string) bool {
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

// add takes dirs over. Their paths must not be parts of larger strings of
// somebody else, which would be kept in memory with them.
func (k *known) add(dirs []knownDir) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.limit == 0 { // closed
		return
	}
	for i := range dirs {
		if !k.has(dirs[i].path) {
			dirs[i].hash = maphash.String(k.seed, dirs[i].path)
			k.insert(&dirs[i])
		}
	}
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
		// has a full group; at four, the oldest notion in the group goes.
		if len(t)*ways >= 4*k.limit {
			k.hand++
			g[k.hand%ways].Store(d)
			return
		}
		k.grow(t)
	}
}

// grow doubles the table. Each group is split in two, so everything fits.
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

// evict drops the next entry in the order of the table, which is no order at
// all: paths are spread by their hash.
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

// forget drops path and, with all that is below it.
func (k *known) forget(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	hash := maphash.String(k.seed, path)
	g, _ := k.table.Load().group(hash)
	for i := range g {
		if d := g[i].Load(); d != nil && d.hash == hash && d.path == path {
			g[i].Store(nil)
			k.count--
		}
	}
}

// forgetBelow drops everything below dir. It looks at the whole table, for
// the rare case that a directory has gone behind the Maker's back.
func (k *known) forgetBelow(dir string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := *k.table.Load()
	for i := range t {
		for j := range t[i] {
			d := t[i][j].Load()
			if d != nil && len(d.path) > len(dir) && d.path[len(dir)] == '/' && strings.HasPrefix(d.path, dir) {
				t[i][j].Store(nil)
				k.count--
			}
		}
	}
}

// close forgets everything for good.
func (k *known) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.limit, k.count = 0, 0
	t := make(knownTable, 1)
	k.table.Store(&t)
}
