// Package metacache caches decoded parts of immutable files, such as the index of a
// segment, within a number of bytes.
//
// It has two levels. New values go into the first, which evicts by frequency: W-TinyLFU
// (Einziger, Friedman and Manes, ACM Transactions on Storage 2017; package otter), where
// a scan does not evict values that are used again and again. Values evicted there go
// into the second, which evicts by recency, a plain LRU; a hit moves them back into the
// first. Frequency is better while the hot set stays, recency while it keeps changing.
// So both run in miniature over a sample of the keys (Waldspurger et al., Cache Modeling
// and Optimization using Miniature Simulations, USENIX ATC 2017), and the one with more
// hits gets more of the bytes.
//
// It is a variant of claim L9. The log store uses package otter alone: on the
// store's own lookups that hits as often or more, in the same bytes, without a
// second level.
//
// # Mistakes to avoid
//
//   - Changing a value that the cache returned: others read it.
//   - Using a segment's id again for another file. Old values of the same version
//     would be returned.
//   - A cost that leaves out what the value points to: the limit is on the sum of the
//     costs only.
//   - Leaving out Close, which frees the memory.
package metacache

import (
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

// A Key is a part of a file.
type Key struct {
	Segment uint64 // id of the file; it must never be used for another file
	Part    uint32
}

// Overhead is the number of bytes that the cache itself takes for a value: the node and
// the slot of a level, the value's head, and its share of the samples.
const Overhead = 160

// A Cache holds values, which must not be changed. Its methods may be called
// concurrently.
type Cache[V any] struct {
	bytes    int64
	cost     func(V) int
	frequent *otter.Cache[Key, *kept[V]]
	recent   *recent[V]
	flights  flights[V]
	tuner    *tuner
	closed   atomic.Bool
	resizing sync.Mutex // so that the sizes of both levels fit together

	hits, byRecency, misses, stale, loads, evicted atomic.Int64
}

// A kept is a value in the cache. It is never changed.
type kept[V any] struct {
	key     Key
	version uint64
	value   V
	cost    int64
}

// Stats are figures of a cache. All but the last three only grow.
type Stats struct {
	Hits, Misses  int64
	HitsByRecency int64 // hits that only the second level had
	Stale         int64 // misses where another version was cached
	Loads         int64 // calls of load: fewer than Misses where many missed at once
	Evicted       int64 // values dropped for lack of room

	Bytes, Entries int64
	RecencyBytes   int64 // limit of the second level
}

// New returns a cache of at most bytes: the sum of the costs of its values, and of
// Overhead for each. While bytes move from one level to the other it may be a quarter
// more for a moment. A value that does not fit is not kept. The caller must call Close.
func New[V any](bytes int64, cost func(V) int) *Cache[V] {
	bytes = max(bytes, 1)
	c := &Cache[V]{bytes: bytes, cost: cost, tuner: newTuner(bytes)}
	c.recent = newRecent[V](c.tuner.recency(bytes))
	c.frequent = newFrequent(bytes-c.recent.max, func(k *kept[V]) { c.evicted.Add(int64(c.recent.put(k))) })
	return c
}

// newFrequent makes the first level. It calls evicted with each value that it evicts.
func newFrequent[V any](bytes int64, evicted func(*kept[V])) *otter.Cache[Key, *kept[V]] {
	return otter.Must(&otter.Options[Key, *kept[V]]{
		MaximumWeight: uint64(max(bytes, 1)),
		Weigher:       func(_ Key, k *kept[V]) uint32 { return uint32(min(k.cost, 1<<32-1)) },
		// At once, so that a value is always in one of the levels. This runs under the
		// lock of otter's policy: evicted must not use the cache.
		Executor: func(f func()) { f() },
		OnDeletion: func(e otter.DeletionEvent[Key, *kept[V]]) {
			if e.Cause == otter.CauseOverflow {
				evicted(e.Value)
			}
		},
	})
}

// Get returns the value of the key if its version is this one. Otherwise Get calls load,
// once for all concurrent calls, and keeps the value in the place of a lower version.
// An error of load is returned to all of these calls, and is not kept.
func (c *Cache[V]) Get(k Key, version uint64, load func() (V, error)) (V, error) {
	if c.closed.Load() {
		c.misses.Add(1)
		c.loads.Add(1)
		return load()
	}
	if found := c.find(k, version); found != nil {
		c.sample(k, found.cost)
		return found.value, nil
	}
	return c.flights.do(flight{k, version}, func() *kept[V] { return c.peek(k, version) }, func() (V, error) {
		c.loads.Add(1)
		v, err := load()
		if err == nil {
			c.keep(&kept[V]{k, version, v, int64(max(c.cost(v), 0)) + Overhead})
		}
		return v, err
	})
}

// find returns the value from either level, or nil.
func (c *Cache[V]) find(k Key, version uint64) *kept[V] {
	first, inFirst := c.frequent.GetIfPresent(k)
	if inFirst && first.version == version {
		c.hits.Add(1)
		return first
	}
	second, stale := c.recent.take(k, version)
	if second == nil {
		c.misses.Add(1)
		if inFirst || stale {
			c.stale.Add(1)
		}
		return nil
	}
	c.hits.Add(1)
	c.byRecency.Add(1)
	if !inFirst || first.version < version {
		c.frequent.Set(k, second)
	}
	return second
}

// peek returns the value if another call has cached it since find.
func (c *Cache[V]) peek(k Key, version uint64) *kept[V] {
	if e, ok := c.frequent.GetEntryQuietly(k); ok && e.Value.version == version {
		return e.Value
	}
	return nil
}

func (c *Cache[V]) keep(k *kept[V]) {
	if e, ok := c.frequent.GetEntryQuietly(k.key); ok && e.Value.version > k.version {
		return // loaded by a reader of an older version
	}
	if c.closed.Load() {
		return
	}
	c.frequent.Set(k.key, k)
	c.sample(k.key, k.cost)
}

// sample tells the tuner of a request, and resizes the levels as it advises.
func (c *Cache[V]) sample(k Key, cost int64) {
	if c.tuner.wants(k) && c.tuner.see(k, cost) {
		c.resize()
	}
}

func (c *Cache[V]) resize() {
	c.resizing.Lock()
	defer c.resizing.Unlock()
	recency := c.tuner.recency(c.bytes)
	c.evicted.Add(int64(c.recent.resize(recency)))
	c.frequent.SetMaximum(uint64(max(c.bytes-recency, 1)))
}

// Drop drops all values of these segments, in one pass over the cache. Values that are
// being loaded may be kept; they are evicted in time, as they are not used.
func (c *Cache[V]) Drop(segments ...uint64) {
	drop := make(map[uint64]bool, len(segments))
	for _, s := range segments {
		drop[s] = true
	}
	for k := range c.frequent.Keys() {
		if drop[k.Segment] {
			c.frequent.Invalidate(k)
		}
	}
	c.recent.drop(func(k Key) bool { return drop[k.Segment] })
}

// Stats returns the current figures.
func (c *Cache[V]) Stats() Stats {
	bytes, entries, most := c.recent.size()
	return Stats{
		Hits: c.hits.Load(), Misses: c.misses.Load(), HitsByRecency: c.byRecency.Load(),
		Stale: c.stale.Load(), Loads: c.loads.Load(), Evicted: c.evicted.Load(),
		Bytes:        int64(c.frequent.WeightedSize()) + bytes,
		Entries:      int64(c.frequent.EstimatedSize()) + entries,
		RecencyBytes: most,
	}
}

// Close frees the memory. After Close, Get loads each time and keeps nothing.
func (c *Cache[V]) Close() {
	if c.closed.Swap(true) {
		return
	}
	c.frequent.InvalidateAll()
	c.frequent.StopAllGoroutines()
	c.recent.drop(func(Key) bool { return true })
	c.tuner.close()
}
